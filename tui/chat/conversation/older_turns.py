"""Turns of a conversation that are not on the screen: not yet, or no longer."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.containers import VerticalScroll

from tui.chat.conversation.turn import Turn, turns_in

if TYPE_CHECKING:
    from assistant.store.values import StoredMessage

PAGE = 20
"""Turns that are brought to the screen together."""
MAX_SHOWN, KEPT = 24, 10
"""Turns on the screen from which on the oldest are taken away when new ones come, and those left:
each makes every layout take longer.
"""
NEAR = 2
"""Lines from the top at which older turns are brought."""


class OlderTurns:
    """Bring older turns when the reader comes to the top; take them away when there are many."""

    def __init__(
        self,
        view: VerticalScroll,
        turn_of: Callable[["StoredMessage"], Turn],
        records: "Sequence[StoredMessage]" = (),
    ) -> None:
        self._view, self._turn_of = view, turn_of
        self._records = [record for record in records if record.role != "system"]
        self._growing = False  # older turns are about to be laid out

    def take(self, start: int = -PAGE) -> "list[StoredMessage]":
        """Take the records from that one on."""
        taken = self._records[start:]
        del self._records[start:]
        return taken

    def go_on_from(self, before: "OlderTurns") -> "tuple[int, list[StoredMessage]]":
        """Take the records to begin with, after the turns of `before` that show the same.

        Return how many turns these are: none if a great many would be missing after them.
        """
        start, count = len(before._records), 0
        if [record.id for record in self._records[:start]] == [r.id for r in before._records]:
            for turn, record in zip(turns_in(self._view), self._records[start:], strict=False):
                if turn.busy or not _same(turn.record, record):
                    break
                turn.record = record
                count += 1
        if not count or len(self._records) - start - count > PAGE:
            return 0, self.take()
        new = self.take(start + count)
        self.take(start)
        return count, new

    def approach(self) -> None:
        """Bring older turns: the reader comes near the top."""
        if not self._growing:
            self._growing = True
            self._view.call_next(self._arrive)  # an animation must not be stopped from within

    def laid_out(self) -> None:
        """Note that what was brought has its place."""
        self._growing = False

    def fill(self) -> None:
        """Bring older turns while there is nothing to scroll to."""
        if self._view.max_scroll_y <= NEAR and self.bring():
            self._view.call_after_refresh(self.fill)

    def bring(self) -> bool:
        """Put older turns on the screen; return whether there are any."""
        records = self.take()
        if records:
            first = next(iter(turns_in(self._view)), None)
            self._view.mount_all([self._turn_of(record) for record in records], before=first)
        return bool(records)

    def shed(self) -> None:
        """Take the oldest of very many turns away, as far as they are stored, with their notes."""
        turns, count = turns_in(self._view), 0
        if len(turns) <= MAX_SHOWN:
            return
        for turn in turns[: len(turns) - KEPT]:
            if turn.record is None or turn.busy:
                break
            self._records.append(turn.record)
            count += 1
        if count:
            gone = list(self._view.children)[: self._view.children.index(turns[count])]
            self._view.remove_children([child for child in gone if not child.styles.is_docked])
            self._view.call_after_refresh(self.fill)

    def _arrive(self) -> None:
        """Bring older turns, and stay where the way to the top has led."""
        self._view.app.animator.force_stop_animation(self._view, "scroll_y")
        self._growing = self.bring()


def _same(one: "StoredMessage | None", other: "StoredMessage") -> bool:
    """Return whether two records look the same, except for their branches."""
    if one is None:
        return False
    parts = ((each.id, each.content, each.thought, each.state) for each in (one, other))
    return next(parts) == next(parts)
