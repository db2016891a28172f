"""An engine, in this process or in one of its own, with a log of its events."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from queue import Queue
from typing import Any, TypeVar

from assistant.engine.engine import HANDLERS
from assistant.events import Event, Failed, Finished, LaneEvent, RaceOver, Ready
from assistant.process.engine_process import EngineProcess
from assistant.process.wire import CHAT, Protocol
from assistant.request import AnyJob, EngineArgs, Message, Request, Sampling
from assistant.service import EventStream
from tests.in_process_engine import BlockingEngine, InProcessEngine
from tests.patience import WAIT_S

Kind = TypeVar("Kind")
LONG = 30_000
"""Tokens of an answer that takes half a minute and is stopped early."""
HOT = Sampling(temperature=30)  # or a tiny model says one byte forever


class EventLog:
    """The events of an engine, in order; `until` waits for the next one of a class."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._queue: Queue[Event] = Queue()
        self.emit: Callable[[Event], None] = self._queue.put

    def until(self, *kinds: type[Kind]) -> Kind:
        while True:
            event = self._queue.get(timeout=WAIT_S)
            self.events.append(event)
            if isinstance(event, kinds):
                return event
            assert not isinstance(event, Failed), event

    def end(self) -> Any:
        return self.until(Ready, Finished, Failed, RaceOver)

    def is_silent(self) -> bool:
        return self._queue.empty()

    def of(self, kind: type[Kind], lane: int | None = None) -> list[Kind]:
        """Return the events of a class, or those of one lane of a race."""
        events = self.events
        if lane is not None:
            events = [e.event for e in self.of(LaneEvent) if e.lane == lane]
        return [event for event in events if isinstance(event, kind)]

    def assert_in_turns(self, lanes: int) -> None:
        """Check that the lane that has computed least was next, until each had ended."""
        clocks, longest = dict.fromkeys(range(lanes), 0.0), 0.0
        for lap in self.of(LaneEvent):
            assert clocks[lap.lane] == min(clocks.values()) <= lap.clock
            longest = max(longest, lap.clock - clocks[lap.lane])
            clocks[lap.lane] = lap.clock
            assert max(clocks.values()) - min(clocks.values()) <= longest
            if isinstance(lap.event, Finished):
                del clocks[lap.lane]
        assert not clocks


def unread_stream(job: AnyJob) -> EventStream:
    """Return a stream that nobody reads."""
    return EventStream(job, lambda *_: None)


@contextmanager
def _logged(
    make: Callable[[], EngineProcess], load: EngineArgs | None
) -> Iterator[tuple[BlockingEngine, EventLog]]:
    received = EventLog()
    engine = BlockingEngine(make, received.emit)
    try:
        if load:
            engine.submit(load)
            received.until(Ready)
        yield engine, received
    finally:
        engine.close()
        assert engine.pid is None


Logged = AbstractContextManager[tuple[BlockingEngine, EventLog]]


def in_process(load: EngineArgs | None = None, handlers: Mapping[type, Any] = HANDLERS) -> Logged:
    """Run an engine in this process, with the models of `load` if there are any."""
    return _logged(partial(InProcessEngine, handlers), load)


def running(
    worker: str | None = None, protocol: Protocol = CHAT, load: EngineArgs | None = None
) -> Logged:
    """Run an engine in a process of its own, by a worker that may misbehave."""
    protocol = replace(protocol, worker=worker or protocol.worker)
    return _logged(partial(EngineProcess, protocol), load)


def ask(text: str = "Why?", **settings: Any) -> Request:
    settings = {"mode": "sps", "lookahead": 3, "max_tokens": 20, "seed": 1, **settings}
    return Request((Message("user", text),), HOT, **settings)
