"""Walking from turn to turn by keys."""

from collections.abc import Callable

from textual.containers import VerticalScroll

from tui.chat.conversation.turn import Turn, turns_in

STEP = 3
"""Lines that an arrow key scrolls within a turn that is longer than the screen."""


class TurnFocus:
    """Move the focus along the turns of a view; `bring` puts older ones there, if there are any."""

    def __init__(self, view: VerticalScroll, bring: Callable[[], bool]) -> None:
        self._view, self._bring = view, bring

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

    def walk(self, turn: Turn, direction: int) -> bool:
        """Scroll a turn that goes on beyond the edge, else go to its neighbour, if it has one."""
        if self._goes_on(turn, direction):
            self._view.scroll_relative(y=direction * STEP, animate=False, immediate=True)
            return True
        return self._go_to_neighbour(direction)

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

    def reveal(self, turn: Turn, direction: int) -> None:
        """Bring a turn into sight: of a long one the end when going up, else its beginning."""
        region, height = turn.virtual_region, self._view.scrollable_content_region.height
        if region.height <= height:
            self._view.scroll_to_widget(turn, animate=False, immediate=True)
        else:
            y = region.bottom - height if direction < 0 else region.y
            self._view.scroll_to(y=y, animate=False, immediate=True)

    def _goes_on(self, turn: Turn, direction: int) -> bool:
        """Return whether a turn has lines out of sight in a direction."""
        region, top = turn.virtual_region, self._view.scroll_y
        if direction < 0:
            return region.y < top
        return region.bottom > top + self._view.scrollable_content_region.height
