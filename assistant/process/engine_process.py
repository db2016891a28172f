"""The engine for its clients: a process that is started, watched, and replaced if it dies."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from assistant.events import Failed, Ready
from assistant.process.wire import CHAT, Protocol, TooLong
from assistant.process.worker_process import WorkerDied, WorkerProcess
from assistant.request import (
    AnyJob,
    Cancel,
    CountTokens,
    EngineArgs,
    Prefill,
    Request,
    UpdateRequest,
)
from assistant.service import EventStream, Order
from models.errors import Cancelled, EngineDied, ModelError, OtherEngine, UsageError

STOPPED = Failed("Stopped before it began.", Cancelled.__name__)
CLOSED = Failed("The engine was closed.", Cancelled.__name__)
NO_MODEL = Failed("No model is loaded.", ModelError.__name__)


class EngineProcess:
    """Load models and answer requests in another process; `assistant.service` has the contract.

    If the other process dies or hangs, its job ends in `Failed` of the kind `EngineDied`, and so do
    those that wait for the same models. A new process does the next job. Before an answer, it loads
    the models again, with the usual events in the answer's stream.
    """

    def __init__(self, protocol: Protocol = CHAT) -> None:
        self._protocol = protocol
        self._waiting: deque[EventStream] = deque()
        self._stream: EventStream | None = None  # of the job under way
        self._scheduler: asyncio.Task[None] | None = None
        self._worker: WorkerProcess | None = None
        self._starting = asyncio.Lock()  # held while a process is started, or closed for good
        self._setup: EngineArgs | None = None  # the last one sent
        self._engine: str | None = None  # of the worker, if it is known
        # Processes for the parts of jobs that need another engine, by its name.
        self._others = defaultdict[str, EngineProcess](lambda: EngineProcess(protocol))
        self._merging: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """The number of the process that computes, if there is one."""
        return self._worker.pid if self._worker else None

    async def start(self) -> None:
        """Start the process before there is a job: importing native libraries takes a while."""
        with suppress(OSError):  # the first job reports it
            await self._start_once()

    def do(self, job: AnyJob) -> EventStream:
        """Queue a job; return the stream of its events."""
        if not hasattr(job, "part"):
            return self._queue(job)
        from assistant.process.lanes import by_engine, merge  # of a race, which few chats have

        parts = by_engine(job)
        own_engine = self._engine or next(iter(parts), "auto")
        if own_engine in parts:
            self._engine = own_engine
        if {*parts} <= {own_engine, "auto"}:
            return self._queue(job)
        streams: list[EventStream] = []

        def cancel_parts(_: EventStream, order: Order) -> None:
            for stream in streams:
                if isinstance(order, Cancel):
                    stream.cancel()

        merged = EventStream(job, cancel_parts)

        def start_parts() -> Iterator[EventStream]:
            for engine, part in parts.items():
                is_own = engine == own_engine or self._is_closed
                streams.append((self if is_own else self._others[engine])._queue(part))
                if merged.is_cancelled:
                    streams[-1].cancel()
                yield streams[-1]

        merging = asyncio.create_task(merge(merged, start_parts()))
        self._merging.add(merging)
        merging.add_done_callback(self._merging.discard)
        return merged

    def _queue(self, job: AnyJob) -> EventStream:
        stream = EventStream(job, self._obey)
        if self._is_closed:
            stream.put(CLOSED, last=True)
            return stream
        for other in [*self._waiting, self._stream]:
            if other and isinstance(other.job, Prefill):
                other.cancel()
        self._waiting.append(stream)
        if self._scheduler is None or self._scheduler.done():
            self._scheduler = asyncio.create_task(self._run_queue())
        return stream

    async def close(self) -> None:
        """End the process, by a kill after three seconds, and wait until it has ended."""
        self._is_closed = True
        if self._scheduler is not None:
            self._scheduler.cancel()
            await asyncio.wait([self._scheduler])
        for stream in filter(None, (self._stream, *self._waiting)):
            stream.put(CLOSED, last=True)
        async with self._starting:
            if self._worker is not None:
                await self._worker.close()
                self._worker = None
        for other in self._others.values():
            await other.close()
        await asyncio.gather(*self._merging)

    def _obey(self, stream: EventStream, order: Order) -> None:
        worker = self._worker if stream is self._stream else None
        current_job = worker.job if worker else None  # a setup while models are loaded again
        if not isinstance(order, Cancel):
            if worker and current_job is stream.job:
                worker.order(order)
            elif isinstance(order, UpdateRequest) and isinstance(stream.job, Request):
                updated = replace(stream.job, mode=order.mode, lookahead=order.lookahead)
                stream.job = replace(updated, sampling=order.sampling or updated.sampling)
        elif stream in self._waiting:
            self._waiting.remove(stream)
            stream.put(STOPPED, last=True)
        elif worker and current_job:
            worker.cancel()

    async def _run_queue(self) -> None:
        """Do the jobs that wait, one after another."""
        while self._waiting:
            self._stream = self._waiting.popleft()
            end = await self._do_job(self._stream)
            self._stream.put(end, last=True)
            self._stream = None

    async def _do_job(self, stream: EventStream) -> object:
        """Do a job, even if workers die; return its last event."""
        while not stream.is_cancelled:
            has_models = self._worker is not None and self._worker.has_setup
            if isinstance(stream.job, CountTokens | Prefill) and not has_models:
                return NO_MODEL
            try:
                worker = await self._start_once()
            except OSError as error:
                return self._fail_jobs(f"The engine's process cannot be started ({error}).")
            if end := await self._attempt(worker, stream):
                return end
        return STOPPED

    async def _start_once(self) -> WorkerProcess:
        """Return the process; if several callers wait for it, one of them starts it.

        An `OSError` says that the system starts none, or that the engine was closed.
        """
        async with self._starting:
            if self._is_closed:
                raise OSError("the engine was closed")
            self._worker = self._worker or await self._start()
            return self._worker

    async def _start(self) -> WorkerProcess:
        return await WorkerProcess.start(self._protocol)

    async def _attempt(self, worker: WorkerProcess, stream: EventStream) -> object:
        """Do a job, its models loaded; return its last event, None if the next worker can do it."""
        if stream.is_cancelled:  # while the worker was started
            return STOPPED
        if isinstance(stream.job, EngineArgs):
            self._setup, worker.has_setup = stream.job, True
        elif isinstance(stream.job, Request) and self._setup and not worker.has_setup:
            ready = await self._last_event(worker, self._setup, stream)
            if not isinstance(ready, Ready):
                return ready
            worker.has_setup = True
            stream.put(ready)
            if stream.is_cancelled:
                return STOPPED
        return await self._last_event(worker, stream.job, stream)

    async def _last_event(self, worker: WorkerProcess, job: AnyJob, stream: EventStream) -> object:
        try:
            end = await worker.do(job, stream)
        except TooLong as error:
            return Failed(f"This is too long to read: {error}.", UsageError.__name__)
        except OverflowError:
            return Failed("A number in this is too large.", UsageError.__name__)
        except WorkerDied as death:
            self._worker = self._engine = None
            if worker.is_proven and not worker.has_begun:  # it died while it was idle
                return None
            from assistant.process.crash_message import crash_message  # seldom needed

            return self._fail_jobs(crash_message(job, death, self._setup))
        if isinstance(end, Failed) and end.kind == OtherEngine.__name__:
            worker.kill()
            await worker.close()
            self._worker = self._engine = None
            return None
        if isinstance(end, Ready):
            self._engine = end.engine
        return end

    def _fail_jobs(self, sentence: str) -> Failed:
        """Fail the jobs that wait for the same models; return the failure of the current one."""
        died = Failed(sentence, EngineDied.__name__)
        while self._waiting and not isinstance(self._waiting[0].job, EngineArgs):
            self._waiting.popleft().put(died, last=True)
        return died
