"""Have the engine read while the user reads and types, so that nobody waits for it afterwards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from textual.timer import Timer

from assistant.events import AllRead, Event, Failed, Prefilled
from assistant.request import ReadAhead
from tui.chat.layout import ChatLayout
from tui.chat.status import Activity

if TYPE_CHECKING:
    from tui.app.program import Program

PAUSE_S = 0.4
"""Seconds without a key after which typing has paused."""


class ReadingAhead:
    """Ask the engine to read what would be asked now, whenever that has changed.

    Args:
        job: returns what to read; None while something else is to be done.
    """

    def __init__(
        self,
        parts: ChatLayout,
        program: Program,
        job: Callable[[], Awaitable[ReadAhead | None]],
    ) -> None:
        self._parts, self._program, self._wanted = parts, program, job
        self._pause: Timer | None = None
        self._job: ReadAhead | None = None  # the last one, unless it was stopped

    def begin(self) -> None:
        """Read what is on the screen, attached and typed, once the user pauses."""
        if self._pause is not None:
            self._pause.stop()
        self._pause = self._parts.set_timer(PAUSE_S, self._begin)

    async def _begin(self) -> None:
        job = await self._wanted()
        if job is not None and job != self._job:
            self._job = job
            self._program.submit(job, self._show)

    def _show(self, event: Event) -> None:
        match event:
            case Prefilled(_, done, total):
                self._parts.status.show(activity=Activity("reading ahead", done / total))
            case AllRead():
                self._parts.status.show(activity=None)
            case Failed():  # another job came, which shows its own progress from here on
                self._job = None
                self._parts.status.show(activity=None)
