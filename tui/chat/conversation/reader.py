"""The reader's position in a conversation, which layouts do not move, and the turns around it."""

from collections.abc import Callable, Sequence

from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from assistant.store.values import StoredMessage
from tui.chat.conversation.text_view import TextView
from tui.chat.conversation.turn import Turn, turns_in

STEP = 3
"""Lines that an arrow key scrolls within a turn that is longer than the screen."""
PAGE = 20
"""Turns that are mounted together."""
MAX_SHOWN, KEPT = 24, 10
"""Turns on the screen above which the oldest are unmounted when one is added, and those that stay:
each makes every layout take longer.
"""
NEAR = 2
"""Lines from the top at which older turns are mounted."""
GAP = "⋮"


class Reader:
    """Stay at the text being read when the layout above it changes; move from turn to turn.

    `older` returns what mounts older turns.
    """

    def __init__(self, view: VerticalScroll, older: Callable[[], "OlderTurns"]) -> None:
        self._view, self._older = view, older
        self._top: tuple[Widget, int] | None = None  # the widget at the top, its lines above that
        self._position: int | None = None  # in its text, of the line at the top
        self.returning = False
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
            self.returning = True
            self._view.app.animator.force_stop_animation(self._view, "scroll_y")
            self._go(y)
            self.returning = False

    def find(self, message: int, words: Sequence[str] = ()) -> None:
        """Focus a message anywhere in the conversation, and mark some words in it."""
        for turn in turns_in(self._view):
            if turn.record is not None and turn.record.id == message:
                # Immediately: the next key must not go to a neighbour of a removed turn.
                self._view.screen.set_focus(turn, scroll_visible=False)
                self._view.call_after_refresh(self.reveal, turn, -1)
                self._view.call_after_refresh(self._mark, turn, words)
                return
        if (index := self._older().index(message)) >= 0:
            self._older().mount_around(index)
            self.find(message, words)

    def _mark(self, turn: Turn, words: Sequence[str]) -> None:
        """Mark words in a turn, and scroll to the first of them."""
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
            return self._go_to_end(direction)
        if continues and event.distance == "lines":
            self._go(top + direction * STEP)
            return True
        return self._go_to_neighbour(direction)

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

    def _go_to_end(self, direction: int) -> bool:
        older = self._older()
        older.mount_around(0) if direction < 0 else older.close_gap()
        turn = turns_in(self._view)[0 if direction < 0 else -1]
        self._view.screen.set_focus(turn, scroll_visible=False)
        ends = (self.reveal, turn, 1) if direction < 0 else (self._view.anchor,)
        self._view.call_after_refresh(*ends)
        return True

    def _go_to_neighbour(self, direction: int) -> bool:
        turns, screen = turns_in(self._view), self._view.screen
        index = next((i for i, turn in enumerate(turns) if turn is screen.focused), len(turns))
        index += direction
        older = self._older()
        if (index < 0 and older.mount_older()) or (
            index == len(older.above) and older.mount_below()
        ):
            self._view.call_after_refresh(self._go_to_neighbour, direction)
            return True
        if not 0 <= index < len(turns):
            return False
        screen.set_focus(turns[index], scroll_visible=False)
        self.reveal(turns[index], direction)
        return True


def _offset(widget: Widget, container: Widget) -> int:
    """Return how many lines below the beginning of a container a widget is laid out."""
    y = 0
    while widget is not container and isinstance(parent := widget.parent, Widget):
        y += widget.virtual_region.y
        widget = parent
    return y


class OlderTurns:
    """Mount older turns when the reader comes to the top; unmount them when there are many."""

    def __init__(
        self,
        view: VerticalScroll,
        turn_of: Callable[[StoredMessage], Turn],
        records: Sequence[StoredMessage] = (),
    ) -> None:
        self._view, self._turn_of = view, turn_of
        self._records = [record for record in records if record.role != "system"]
        self._growing = False  # older turns are mounted and not yet laid out
        self._gap = Static(GAP, markup=False)
        self.above = range(0)
        """The records that are mounted above the gap, where the reader has gone, by index."""

    def _pop(self, start: int = -PAGE) -> list[StoredMessage]:
        """Remove and return the records from an index on."""
        records = self._records[start:]
        del self._records[start:]
        return records

    def reuse_turns(self, before: "OlderTurns") -> tuple[int, list[StoredMessage]]:
        """Return how many mounted turns can stay, and the records to mount after them.

        No turn stays where more than a page of others would follow. `before` has mounted them.
        """
        start, count = len(before._records), 0
        if [record.id for record in self._records[:start]] == [r.id for r in before._records]:
            for turn, record in zip(turns_in(self._view), self._records[start:], strict=False):
                if turn.busy or not _same(turn.record, record):
                    break
                turn.record = record
                count += 1
        if not count or len(self._records) - start - count > PAGE:
            return 0, self._pop()
        new = self._pop(start + count)
        self._pop(start)
        return count, new

    def scrolled(self, up: bool) -> None:
        """Mount more turns after a scroll event that has come near the top or the gap."""
        view, is_near_top = self._view, up and self._view.scroll_y <= NEAR
        bottom = view.scroll_y + view.scrollable_content_region.height
        if not self._growing and (
            is_near_top or (self.above and view.scroll_y <= self._gap.virtual_region.y < bottom)
        ):
            self._growing = True
            mount = self.mount_older if is_near_top else self.mount_below
            view.call_next(self._stop_and, mount)  # an animation must not stop itself

    def laid_out(self) -> None:
        """Note that the turns that were mounted are laid out."""
        self._growing = False

    def fill(self) -> None:
        """Mount older turns until the view can be scrolled."""
        if self._view.max_scroll_y <= NEAR and self.mount_older():
            self._view.call_after_refresh(self.fill)

    def mount_older(self) -> bool:
        """Mount a page of older turns; return whether there were any."""
        above = self.above
        records = self._records[: above.start][-PAGE:] if above else self._pop()
        self.above = range(above.start - len(records), above.stop) if above else above
        return self._mount(records, next(iter(turns_in(self._view)), None))

    def _mount(self, records: Sequence[StoredMessage], before: Widget | None) -> bool:
        if records:
            self._view.mount_all([self._turn_of(record) for record in records], before=before)
        return bool(records)

    def mount_around(self, index: int) -> bool:
        """Mount the turns around a record that is not mounted, above a gap if there are others."""
        self.close_gap()
        first, start = turns_in(self._view)[0], max(index - PAGE // 2, 0)
        if start + PAGE >= len(self._records):
            return self._mount(self._pop(start), first)
        self._gap, self.above = Static(GAP, markup=False), range(start, start + PAGE)
        self._view.mount(self._gap, before=first)
        return self._mount(self._records[start : start + PAGE], self._gap)

    def index(self, message: int) -> int:
        """Return the index of a record that is not mounted, or -1."""
        ids = [record.id for record in self._records]
        return ids.index(message) if message in ids else -1

    def mount_below(self) -> bool:
        """Mount a page of turns above the gap, which closes after the last; return whether."""
        above = self.above
        if above:
            self._mount(self._records[above.stop : above.stop + PAGE], self._gap)
            self.above = range(above.start, above.stop + PAGE)
            if self.above.stop >= len(self._records):
                self._pop(above.start)
                self.above = range(0)
                self._gap.remove()
        return bool(above)

    def close_gap(self) -> None:
        """Unmount the turns above the gap, and the gap."""
        if self.above:
            self._unmount_above(turns_in(self._view)[len(self.above)])
            self.above = range(0)

    def _unmount_above(self, turn: Turn) -> None:
        above = list(self._view.children)[: self._view.children.index(turn)]
        self._view.remove_children([child for child in above if not child.styles.is_docked])

    def unmount_oldest(self) -> None:
        """Unmount the oldest of many turns, as far as they are stored, with their notes."""
        turns, count = turns_in(self._view)[len(self.above) :], 0
        self.close_gap()
        if len(turns) <= MAX_SHOWN:
            return
        for turn in turns[: len(turns) - KEPT]:
            if turn.record is None or turn.busy:
                break
            self._records.append(turn.record)
            count += 1
        if count:
            self._unmount_above(turns[count])
            self._view.call_after_refresh(self.fill)

    def _stop_and(self, mount: Callable[[], bool]) -> None:
        """Stop scrolling, and mount turns."""
        self._view.app.animator.force_stop_animation(self._view, "scroll_y")
        self._growing = mount()


def _same(one: StoredMessage | None, other: StoredMessage) -> bool:
    """Return whether two records are shown the same, except for their branches."""
    if one is None:
        return False
    parts = ((record.id, record.content, record.thought, record.state) for record in (one, other))
    return next(parts) == next(parts)
