"""The reader's position in a conversation, which layouts do not move."""

from collections.abc import Callable, Sequence
from functools import partial

from textual.containers import VerticalScroll
from textual.widget import Widget

from tui.chat.conversation.older_turns import OlderTurns
from tui.chat.conversation.turn import Turn, turns_in
from tui.text.text_view import TextView

STEP = 3
"""Lines that an arrow key scrolls within a turn that is longer than the screen."""


class Reader:
    """Stay at the text being read when the layout above it changes; move from turn to turn."""

    def __init__(self, view: VerticalScroll, older: OlderTurns) -> None:
        self._view, self._older = view, older
        self._top: tuple[Widget, int] | None = None  # the widget at the top, its hidden lines
        self._position: int | None = None  # in its text, where the top line begins
        self._awaited: tuple[Turn, Callable[[], None]] | None = None  # a new turn; what follows
        self.is_restoring = False
        """Whether `restore` is scrolling."""

    def remember(self) -> None:
        """Remember the widget at the top of the screen, and the position in its text."""
        self._top = self._position = None
        top = int(self._view.scroll_y)
        for child in self._view.children:
            region = child.virtual_region
            if child.display and not child.styles.is_docked and region.bottom > top:
                self._top = child, top - region.y
                break
        else:
            return
        for text in child.query(TextView):
            line = top - region.y - _offset(text, child)
            if text.display and 0 <= line < text.size.height:
                self._top, self._position = (text, line), text.position_at(line)

    def restore(self) -> None:
        """Scroll back to the remembered position after a layout has moved it."""
        if self._top is None or not self._top[0].is_attached:
            return
        widget, lines = self._top
        if self._position is not None and isinstance(widget, TextView):
            lines = widget.line_at(self._position)
        y = _offset(widget, self._view) + lines
        if widget.size and abs(y - self._view.scroll_y) >= 1:
            self.is_restoring = True
            self._view.app.animator.force_stop_animation(self._view, "scroll_y")
            self._go(y)
            self.is_restoring = False

    def find(self, message: int, words: Sequence[str] = ()) -> None:
        """Focus a message anywhere in the conversation, and mark some words in it."""
        for turn in turns_in(self._view):
            if turn.record.id == message:
                # Immediately: the next key must not go to a neighbour of a removed turn.
                self._view.screen.set_focus(turn, scroll_visible=False)
                self._once_laid_out(turn, partial(self._show, turn, words))
                return
        if (index := self._older.index(message)) >= 0:
            self._older.mount_around(index)
            self.find(message, words)

    def _once_laid_out(self, turn: Turn, action: Callable[[], None]) -> None:
        """Carry out an action now, or after the first layout that a new turn is part of.

        `call_after_refresh` is too early where messages wait in queues: it precedes that layout.
        """
        self._awaited = turn, action
        if turn.is_mounted and turn.virtual_region:
            self.laid_out()

    def laid_out(self) -> None:
        """Carry out the action that waits for a new turn, once a layout has placed all of it."""
        if self._awaited is not None and self._awaited[0].is_mounted:
            self._view.call_next(self._awaited[1])
            self._awaited = None

    def _show(self, turn: Turn, words: Sequence[str]) -> None:
        """Scroll to a turn, and to the first of some words, which are marked."""
        self.reveal(turn, -1)
        for text in turn.query(TextView):
            if words and (position := text.mark(words)) is not None:
                line = _offset(text, self._view) + text.line_at(position)
                self._go(line - self._view.scrollable_content_region.height // 3)
                return

    def move(self, event: Turn.Moved) -> bool:
        """Scroll within a turn, or go to another one; return whether there was one."""
        direction, region, top = event.direction, event.turn.virtual_region, self._view.scroll_y
        bottom = top + self._view.scrollable_content_region.height
        continues = region.y < top if direction < 0 else region.bottom > bottom
        if event.distance == "end":
            self._go_to_end(direction)
        elif continues and event.distance == "lines":
            self._go(top + direction * STEP)
        else:
            return self._go_to_neighbour(direction)
        return True

    def sees(self, turn: Turn, passage: str) -> bool:
        """Return whether a passage of a turn begins on the screen."""
        for text in turn.query(TextView):
            if (position := text.text.find(passage)) >= 0:
                y = _offset(text, self._view) + text.line_at(position) - self._view.scroll_y
                return 0 <= y < self._view.scrollable_content_region.height
        return False

    def reveal(self, turn: Turn, direction: int) -> None:
        """Scroll a turn into sight: the end of a long one when going up, else its beginning."""
        region, height = turn.virtual_region, self._view.scrollable_content_region.height
        if region.height <= height:
            self._view.scroll_to_widget(turn, animate=False, immediate=True)
        else:
            self._go(region.bottom - height if direction < 0 else region.y)

    def _go(self, y: float) -> None:
        self._view.scroll_to(y=y, animate=False, immediate=True, force=True)

    def _go_to_end(self, direction: int) -> None:
        if direction < 0:
            self._older.mount_around(0)
            oldest = turns_in(self._view)[0]
            self._view.screen.set_focus(oldest, scroll_visible=False)
            self._once_laid_out(oldest, partial(self.reveal, oldest, 1))
        else:
            self._older.close_gap()
            self._awaited = None
            self._view.screen.set_focus(turns_in(self._view)[-1], scroll_visible=False)
            self._view.call_after_refresh(self._view.anchor)

    def _go_to_neighbour(self, direction: int) -> bool:
        turns, screen, older = turns_in(self._view), self._view.screen, self._older
        focused = next((i for i, turn in enumerate(turns) if turn is screen.focused), len(turns))
        index = focused + direction
        is_at_gap = index == len(older.above)
        if (index < 0 and older.mount_older()) or (is_at_gap and older.mount_below()):
            return self._go_to_neighbour(direction)
        if not 0 <= index < len(turns):
            return False
        screen.set_focus(turns[index], scroll_visible=False)
        self._once_laid_out(turns[index], partial(self.reveal, turns[index], direction))
        return True


def _offset(widget: Widget, container: Widget) -> int:
    """Return how many lines below the beginning of a container a widget is laid out."""
    y = 0
    while widget is not container and isinstance(parent := widget.parent, Widget):
        y += widget.virtual_region.y
        widget = parent
    return y
