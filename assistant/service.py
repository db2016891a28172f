"""The contract between an engine and its clients: `async for event in engine.do(job)`.

- Use an engine and its streams in one event loop. No method blocks, and none may be called from
  another thread. A signal handler calls `loop.call_soon_threadsafe(stream.cancel)`.
- Jobs are done one after another, in the order of the calls of `do`. A `Prefill` is stopped by
  whatever comes after it.
- Every stream ends exactly once. Its last event is that of the job's kind (`Ready` for
  `EngineArgs`, `Finished` for a `Request`, `PrefillDone` for a `Prefill`) or `Failed`, whose `kind`
  names an error class of `models.errors`. Reading raises nothing, even if the process dies.
- Stop a job with `stream.cancel()` and read on: an answer ends in `Finished` with the text so far,
  all else in `Failed` of the kind `Cancelled`. To end the stream at once, call `stream.end(event)`.
- Read every stream to its end, or cancel it. A job with `MAX_QUEUED` unread events waits for its
  reader, and the jobs after it wait, too.
- `close()` ends the streams that are left.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Self

from assistant.request import AnyJob, Cancel, Mode, NextStep, Sampling, UpdateRequest

MAX_QUEUED = 4096
"""Events in a stream after which the job waits: some megabytes, more than most answers have."""
Order = UpdateRequest | NextStep | Cancel


class EventStream:
    """The events of a job, for one reader. After the end, `cancel` and `update` do nothing.

    `send` passes an order on to the engine; it must not raise.
    """

    def __init__(self, job: AnyJob, send: Callable[["EventStream", Order], None]) -> None:
        self.job = job
        self.is_cancelled = False
        self._send = send
        self._queued: asyncio.Queue[tuple[Any, bool]] = asyncio.Queue()
        self._was_read = asyncio.Event()  # an event was read, or no more will be
        self._has_ended = self._is_exhausted = False  # its last event was put; it was read

    def cancel(self) -> None:
        """Stop the job; what was decoded stays, and other jobs are not affected."""
        if not self._has_ended:
            self._stop()

    def end(self, event: object) -> None:
        """Stop the job and end the stream at once, with the given event."""
        if not self._has_ended:
            self.put(event, last=True)
            self._stop()

    def update(
        self, mode: Mode, lookahead: int | None = None, sampling: Sampling | None = None
    ) -> None:
        """Change how an answer is decoded, from the next round on."""
        if not self._has_ended:
            self._send(self, UpdateRequest(mode, lookahead, sampling))

    def step(self) -> None:
        """Let a part of a race compute one step. For the engine."""
        self._send(self, NextStep())

    def put(self, event: object, last: bool = False) -> None:
        """Add an event, unless the stream has ended. For the engine."""
        if not self._has_ended:
            self._has_ended = last
            self._queued.put_nowait((event, last))

    async def wait_for_space(self) -> None:
        """Wait until the buffer has space for an event, or the job is cancelled. For the engine."""
        while self._queued.qsize() >= MAX_QUEUED and not self.is_cancelled:
            self._was_read.clear()
            await self._was_read.wait()

    def _stop(self) -> None:
        self.is_cancelled = True
        self._was_read.set()
        self._send(self, Cancel())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if self._is_exhausted:
            raise StopAsyncIteration
        event, self._is_exhausted = await self._queued.get()
        self._was_read.set()
        return event
