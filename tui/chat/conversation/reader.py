"""Where the reader of a conversation is: a place that stays, and keys that lead elsewhere."""

from collections.abc import Callable

from textual.containers import VerticalScroll
from textual.timer import Timer
from textual.widget import Widget

from tui.chat.conversation.turn import Turn, turns_in

SETTLED = 1.0
"""Seconds within which a text that is shown another way has its new height."""
STEP = 3
"""Lines that an arrow key scrolls within a turn that is longer than the screen."""


class Reader:
    """Stay at the line that is being read, whatever comes above; walk from turn to turn.

    `bring` puts older turns on the screen, if there are any.
    """

    def __init__(self, view: VerticalScroll, bring: Callable[[], bool]) -> None:
        self._view, self._bring = view, bring
        self._read: tuple[Widget, int] | None = None  # what is at the top, and lines of it above
        self._share: float | None = None  # the part of it above, while it is changing
        self._settling: Timer | None = None
        self.returning = False
        """Whether it scrolls by itself just now."""

    def hold(self) -> None:
        """Go by the share of what is read, not by lines: its lines are about to change."""
        if self._read is not None and self._share is None:
            child, lines = self._read
            self._share = lines / max(1, child.virtual_region.height)
            self._settling = self._view.set_timer(SETTLED, self.settle)

    def settle(self) -> None:
        """Note what is being read."""
        if self._settling is not None:
            self._settling.stop()
        self._share = self._read = self._settling = None
        top = self._view.scroll_y
        for child in self._view.children:
            region = child.virtual_region
            if child.display and not child.styles.is_docked and region.bottom > top:
                self._read = child, int(top) - region.y
                return

    def restore(self) -> None:
        """Come back to what was being read after a layout has moved it."""
        if self._read is None or not self._read[0].is_attached:
            return
        child, lines = self._read
        region = child.virtual_region
        y = region.y + (lines if self._share is None else round(self._share * region.height))
        if region and abs(y - self._view.scroll_y) >= 1:
            self.returning = True
            self._view.app.animator.force_stop_animation(self._view, "scroll_y")
            self._go(y)
            self.returning = False

    def find(self, message: int) -> None:
        """Go to the turn of a message, wherever it is in the conversation."""
        for turn in turns_in(self._view):
            if turn.record is not None and turn.record.id == message:
                # Immediately: the next key must find it, not a neighbour of what has been taken
                # away.
                self._view.screen.set_focus(turn, scroll_visible=False)
                self._view.call_after_refresh(self.reveal, turn, -1)
                return
        if self._bring():
            self.find(message)

    def walk(self, event: Turn.Walked) -> bool:
        """Scroll a turn that goes on beyond the edge, else go to its neighbour, if it has one."""
        direction, region, top = event.direction, event.turn.virtual_region, self._view.scroll_y
        bottom = top + self._view.scrollable_content_region.height
        goes_on = region.y < top if direction < 0 else region.bottom > bottom
        if goes_on and not event.leaps:
            self._go(top + direction * STEP)
            return True
        return self._go_to_neighbour(direction)

    def reveal(self, turn: Turn, direction: int) -> None:
        """Bring a turn into sight: of a long one the end when going up, else its beginning."""
        region, height = turn.virtual_region, self._view.scrollable_content_region.height
        if region.height <= height:
            self._view.scroll_to_widget(turn, animate=False, immediate=True)
        else:
            self._go(region.bottom - height if direction < 0 else region.y)

    def _go(self, y: float) -> None:
        self._view.scroll_to(y=y, animate=False, immediate=True, force=True)

    def _go_to_neighbour(self, direction: int) -> bool:
        turns, screen = turns_in(self._view), self._view.screen
        place = next((i for i, turn in enumerate(turns) if turn is screen.focused), len(turns))
        place += direction
        if place < 0 and self._bring():
            self._view.call_after_refresh(self._go_to_neighbour, direction)
            return True
        if not 0 <= place < len(turns):
            return False
        screen.set_focus(turns[place], scroll_visible=False)
        self.reveal(turns[place], direction)
        return True
