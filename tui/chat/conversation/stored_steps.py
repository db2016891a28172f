"""How a stored answer came about, fetched when somebody wants to see it."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from assistant.tokens import Step, Trace

if TYPE_CHECKING:
    from assistant.store.values import Record


class Recall:
    """Ask for the rounds of a message once, beside the screen's own work."""

    def __init__(self, record: "Record | None", trace: Callable[[int], Trace] | None) -> None:
        self._record, self._trace = record, trace

    @property
    def pending(self) -> bool:
        """Whether there may be rounds that were not fetched."""
        return self._trace is not None and self._record is not None

    async def steps(self) -> list[Step]:
        """Return the rounds, those of the text that was there when this began; then no more."""
        if self._trace is None or self._record is None:
            return []
        trace, self._trace = self._trace, None
        return beginning(await asyncio.to_thread(trace, self._record.id), len(self._record.content))


def beginning(trace: Trace, length: int) -> list[Step]:
    """Return the rounds of the first so many characters: the store may know of later ones."""
    steps: list[Step] = []
    for step in trace:
        if length <= 0:
            break
        steps.append(step)
        length -= len(step.text)
    return steps
