"""Turns of a conversation that are not on the screen: not yet, or no longer."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assistant.tokens import Trace
from tui.chat.conversation.turn import Turn

if TYPE_CHECKING:
    from assistant.store.values import Record

PAGE = 20
"""Turns that are brought to the screen together."""
MOST, KEPT = 24, 10
"""Turns on the screen from which on the oldest are taken away when new ones come, and those left:
each makes every layout take longer.
"""


class OlderRecords:
    """Keep the records of a conversation's beginning."""

    def __init__(
        self,
        records: "Sequence[Record]" = (),
        trace: Callable[[int], Trace] | None = None,
    ) -> None:
        self._records = [record for record in records if record.role != "system"]
        self.trace = trace
        """How an answer came about, by its id."""

    def __len__(self) -> int:
        return len(self._records)

    def take(self, start: int = -PAGE) -> "list[Record]":
        """Take the records from that one on."""
        taken = self._records[start:]
        del self._records[start:]
        return taken

    def matches(self, turns: Sequence[Turn], older: "OlderRecords") -> int:
        """Return how many turns on the screen show these records already, after those older ones.

        None when a great many would be missing after them.
        """
        start, count = len(older), 0
        if [record.id for record in self._records[:start]] != [r.id for r in older._records]:
            return 0
        for turn, record in zip(turns, self._records[start:], strict=False):
            if turn.busy or not _same(turn.record, record):
                break
            turn.record = record
            count += 1
        return count if len(self._records) - start - count <= PAGE else 0

    def give(self, turns: Sequence[Turn]) -> int:
        """Take over the oldest of too many turns, as far as they are stored; return how many."""
        count = 0
        if self.trace is not None and len(turns) > MOST:
            for turn in turns[: len(turns) - KEPT]:
                if turn.record is None or turn.busy:
                    break
                self._records.append(turn.record)
                count += 1
        return count


def _same(one: "Record | None", other: "Record") -> bool:
    """Return whether two records look the same, but for their branches."""
    if one is None:
        return False
    return (one.id, one.content, one.state) == (other.id, other.content, other.state)
