"""An engine in this process, and one for tests that have no event loop."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from threading import Thread, current_thread
from typing import Any, TypeVar

from assistant.engine.engine import HANDLERS, Engine, Handler
from assistant.process.engine_process import EngineProcess
from assistant.process.wire import CHAT, Envelope
from assistant.process.worker_process import WorkerProcess
from assistant.request import AnyJob, Cancel, Mode, Request, Sampling, UpdateRequest
from assistant.service import EventStream
from tests.patience import WAIT_S

T = TypeVar("T")


class ThreadWorker(WorkerProcess):
    """A worker that is a thread of this process, on which `replace_event` gets each event."""

    pid, patience_s = 0, WAIT_S

    def __init__(
        self, handlers: Mapping[type, Handler], replace_event: Callable[[Any, bool], Any]
    ) -> None:
        super().__init__(None, CHAT)  # type: ignore[arg-type]
        self._loop, self._replace_event = asyncio.get_running_loop(), replace_event
        self._inbox = asyncio.Queue()
        self.engine = Engine(self._handle, handlers)

    def _handle(self, number: int, event: object, last: bool) -> None:
        envelope = Envelope(number, self._replace_event(event, last), last)
        self._loop.call_soon_threadsafe(self._inbox.put_nowait, envelope)

    def _send(self, content: Any) -> None:
        match content:
            case None:
                self._inbox.put_nowait(Envelope(0))
            case UpdateRequest() | Cancel():
                self.engine.order(self._number, content)
            case job:
                self.engine.submit(self._number, job)

    def kill(self) -> None: ...

    async def close(self) -> int | None:
        await asyncio.to_thread(self.engine.close)
        return 0


class InProcessEngine(EngineProcess):
    """The engine in this process, for tests that look inside."""

    def __init__(self, handlers: Mapping[type, Handler] = HANDLERS) -> None:
        super().__init__()
        self._handlers = handlers
        self.engine: Engine | None = None

    async def _start(self) -> WorkerProcess:
        worker = ThreadWorker(self._handlers, self.replace_event)
        self.engine = worker.engine
        return worker

    def replace_event(self, event: Any, last: bool) -> Any:
        """Return the event that is emitted instead of this one; called on the engine's thread."""
        return event


class BlockingEngine:
    """An engine for a test without an event loop: `handle` gets the events of all its jobs."""

    def __init__(self, make: Callable[[], EngineProcess], handle: Callable[[Any], None]) -> None:
        self._loop, self._handle = asyncio.new_event_loop(), handle
        self._thread = Thread(target=self._loop.run_forever, name="loop")
        self._thread.start()
        self._streams: list[EventStream] = []
        self.process = self.call(make)

    @property
    def pid(self) -> int | None:
        return self.process.pid

    def submit(self, job: AnyJob) -> None:
        stream = self.call(self.process.do, job)
        asyncio.run_coroutine_threadsafe(self._follow(stream), self._loop)
        self._streams.append(stream)

    async def _follow(self, stream: EventStream) -> None:
        async for event in stream:
            self._handle(event)

    def update(
        self, mode: Mode, lookahead: int | None = None, sampling: Sampling | None = None
    ) -> None:
        """Update the last request."""
        requests = [stream for stream in self._streams if isinstance(stream.job, Request)]
        for stream in requests[-1:]:
            self.call(stream.update, mode, lookahead, sampling)

    def cancel(self) -> None:
        """Stop all jobs at once, so that none begins when the one before it ends."""

        def stop() -> None:
            for stream in self._streams:
                stream.cancel()

        self.call(stop)

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a function returns that is called in the engine's loop."""
        if current_thread() is self._thread:
            return function(*arguments)

        async def called() -> T:
            return function(*arguments)

        return self._run(called())

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(WAIT_S)

    def close_process(self) -> None:
        """Close the engine; the events that are under way are still handled."""
        self._run(self.process.close())

    def close(self) -> None:
        """Close the engine and the loop."""
        if self._loop.is_closed():
            return
        self.close_process()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
