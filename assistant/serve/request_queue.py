"""One engine for many clients: what they ask is done in turn."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from assistant.events import Event
from assistant.process.client import EngineProcess
from assistant.request import Request, Setup
from assistant.serve.refusal import Refusal

MOST_WAITING = 32
"""Requests that may wait while one is answered."""


class Job:
    """Something that was given to the engine, as an event loop hears of it."""

    def __init__(self, engine: EngineProcess, what: Setup | Request) -> None:
        self._loop, self._events = asyncio.get_running_loop(), asyncio.Queue[Event | None]()
        self.is_over = False
        self._ticket = engine.submit(what, self._hear)
        self.cancel = self._ticket.cancel
        """Say that nobody waits for it any more; one that is over is none the worse for it."""

    async def heard(self) -> AsyncIterator[Event]:
        """Yield what the engine says about it, its end last."""
        while (event := await self._events.get()) is not None:
            yield event

    def _hear(self, event: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._take, event)

    def _take(self, event: Event | None) -> None:
        self.is_over = event is None
        self._events.put_nowait(event)


class RequestQueue:
    """Give an engine what clients ask; to be used in one event loop."""

    def __init__(self) -> None:
        self.engine = EngineProcess()
        self._open: list[Job] = []

    def load(self, setup: Setup) -> Job:
        """Load the models; ends in `Ready` or `Failed`."""
        return Job(self.engine, setup)

    def ask(self, request: Request) -> Job:
        """Have a request answered; ends in `Finished`, `Answered` or `Failed`.

        Raises:
            Refusal: too many wait already.
        """
        self._open = [job for job in self._open if not job.is_over]
        if len(self._open) > MOST_WAITING:
            why = f"{MOST_WAITING} requests wait already; ask again later."
            raise Refusal(429, why, "queue_full", headers={"retry-after": "5"})
        self._open.append(Job(self.engine, request))
        return self._open[-1]

    async def close(self) -> None:
        """End the engine, and wait until it is gone."""
        await asyncio.to_thread(self.engine.close)
