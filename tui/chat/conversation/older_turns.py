"""The turns of a conversation that are mounted only where the reader comes."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from operator import attrgetter

from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from assistant.store.values import StoredMessage
from tui.chat.conversation.turn import Turn, turns_in

PAGE = 20
"""The number of turns that are mounted together."""
MAX_SHOWN, KEPT = 24, 10
"""Each turn on the screen makes every layout take longer: when a question is added to more than
`MAX_SHOWN` turns, all but the newest `KEPT` are unmounted.
"""
NEAR = 2
"""Lines from the top at which older turns are mounted."""
GAP = "⋮"
SHOWN = attrgetter("id", "content", "thought", "state")  # all that a turn shows but its branch


class OlderTurns:
    """Mount older turns when the reader comes to the top; unmount them when there are many."""

    def __init__(self, view: VerticalScroll, turn_of: Callable[[StoredMessage], Turn]) -> None:
        self._view, self._turn_of = view, turn_of
        self._records: list[StoredMessage] = []
        self._awaits_layout = False  # older turns are mounted and not yet laid out
        self._gap = Static(GAP, markup=False)
        self.above = range(0)
        """The records that are mounted above the gap, where the reader has gone, by index."""

    def _pop(self, start: int = -PAGE) -> list[StoredMessage]:
        records = self._records[start:]
        del self._records[start:]
        return records

    def replace(self, records: Sequence[StoredMessage]) -> tuple[int, list[StoredMessage]]:
        """Return how many mounted turns can stay for these records, and those to mount after them.

        No turn stays where more than a page of others would follow.
        """
        before = [record.id for record in self._records]
        start, count = len(before), 0  # of the records that are mounted; how many of these stay
        self._records = [record for record in records if record.role != "system"]
        self.above, self._awaits_layout = range(0), False
        if [record.id for record in self._records[:start]] == before:
            for turn, record in zip(turns_in(self._view), self._records[start:], strict=False):
                if turn.busy or SHOWN(turn.record) != SHOWN(record):
                    break
                turn.record = record
                count += 1
        if not count or len(self._records) - start - count > PAGE:
            return 0, self._pop()
        new = self._pop(start + count)
        self._pop(start)
        return count, new

    def mount_near(self, is_upwards: bool) -> None:
        """Mount more turns after a scroll event that has come near the top or the gap."""
        view = self._view
        is_near_top = is_upwards and view.scroll_y <= NEAR
        bottom = view.scroll_y + view.scrollable_content_region.height
        sees_gap = self.above and view.scroll_y <= self._gap.virtual_region.y < bottom
        if not self._awaits_layout and (is_near_top or sees_gap):
            self._awaits_layout = True
            mount = self.mount_older if is_near_top else self.mount_below
            view.call_next(self._mount_once_still, mount)  # an animation must not stop itself

    def laid_out(self) -> None:
        """Note that the turns that were mounted are laid out."""
        self._awaits_layout = False

    def fill(self) -> None:
        """Mount older turns after a layout until the view can be scrolled."""
        if self._records and self._view.max_scroll_y <= NEAR:
            self._view.call_next(self._fill)

    def _fill(self) -> None:
        turns = turns_in(self._view)
        # Those that were mounted since that layout have no region yet.
        are_laid_out = all(turn.virtual_region for turn in (*turns[:1], *turns[-1:]))
        if are_laid_out and self._view.max_scroll_y <= NEAR:
            self.mount_older()

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
        return next((i for i, record in enumerate(self._records) if record.id == message), -1)

    def mount_below(self) -> bool:
        """Mount a page of turns above the gap, if there is one; return whether there was."""
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
        turns = turns_in(self._view)[len(self.above) :]
        self.close_gap()
        if len(turns) <= MAX_SHOWN:
            return
        oldest = [*takewhile(lambda turn: not turn.busy, turns[:-KEPT])]
        self._records += [turn.record for turn in oldest]
        if oldest:
            self._unmount_above(turns[len(oldest)])

    def _mount_once_still(self, mount: Callable[[], bool]) -> None:
        self._view.app.animator.force_stop_animation(self._view, "scroll_y")
        self._awaits_layout = mount()
