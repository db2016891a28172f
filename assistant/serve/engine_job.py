"""A job of the engine, as an event loop hears of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from assistant.events import Event
from assistant.request import AnyJob
from assistant.service import Service


class EngineJob:
    """Something that was given to the engine, whose events can be waited for."""

    def __init__(self, service: Service, job: AnyJob) -> None:
        self._loop, self._events = asyncio.get_running_loop(), asyncio.Queue[Event | None]()
        self.cancel = service.submit(job, self._hear).cancel
        """Say that nobody waits for it any more; one that is over is none the worse for it."""

    async def events(self) -> AsyncIterator[Event]:
        """Yield what the engine says about it, its end last."""
        while (event := await self._events.get()) is not None:
            yield event

    def _hear(self, event: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)
