"""One engine for many clients: what they ask is done in turn."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress

from assistant.events import Answered, Event, Failed, Finished, Ready
from assistant.process.client import EngineProcess
from assistant.request import Request, Setup
from assistant.serve.refusal import Refusal

MOST_WAITING = 32
"""Requests that may wait while one is answered."""
_Events = asyncio.Queue[Event]


class Job:
    """Something that was given to the engine, or will be."""

    def __init__(self, what: Setup | Request) -> None:
        self.what = what
        self.events: _Events = asyncio.Queue()

    async def heard(self) -> AsyncIterator[Event]:
        """Yield what the engine says about it, its end last."""
        while True:
            event = await self.events.get()
            yield event
            if ends(event, self.what):
                return


class RequestQueue:
    """Give the engine one job after the other; to be used in one event loop.

    The engine is told to stop what it does when nobody waits for it any more.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Job] = deque()
        self._doing: Job | None = None
        self._engine = EngineProcess(self._emit)

    def load(self, setup: Setup) -> Job:
        """Load the models; ends in `Ready` or `Failed`."""
        return self._add(Job(setup))

    def ask(self, request: Request) -> Job:
        """Put a request at the end of the queue; ends as `Service.reply` says.

        Raises:
            Refusal: too many wait already.
        """
        if len(self._waiting) >= MOST_WAITING:
            why = f"{MOST_WAITING} requests wait already; ask again later."
            raise Refusal(429, why, "queue_full", headers={"retry-after": "5"})
        return self._add(Job(request))

    def leave(self, job: Job) -> None:
        """Say that nobody waits for a job any more; one that is over is none the worse for it."""
        if job is self._doing:
            self._engine.cancel()
        with suppress(ValueError):
            self._waiting.remove(job)

    async def close(self) -> None:
        """End the engine, and wait until it is gone."""
        await asyncio.to_thread(self._engine.close)

    def _add(self, job: Job) -> Job:
        self._waiting.append(job)
        self._advance()
        return job

    def _advance(self) -> None:
        if self._doing is not None or not self._waiting:
            return
        self._doing = self._waiting.popleft()
        match self._doing.what:
            case Setup() as setup:
                self._engine.load(setup)
            case Request() as request:
                self._engine.reply(request)

    def _emit(self, event: Event) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._hear, event)

    def _hear(self, event: Event) -> None:
        job = self._doing
        if job is None:
            return
        job.events.put_nowait(event)
        if ends(event, job.what):
            self._doing = None
            self._advance()


def ends(event: Event, what: Setup | Request) -> bool:
    """Say whether an event is the last one of a job.

    An engine that had died says `Ready` before it answers.
    """
    if isinstance(what, Setup):
        return isinstance(event, Ready | Failed)
    return isinstance(event, Finished | Answered | Failed)
