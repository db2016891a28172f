"""An engine, in this process or in one of its own, and its events one by one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from queue import Queue
from typing import Any, TypeVar

from assistant.events import Event, Failed, Finished, LaneEvent, RaceOver, Ready
from assistant.process.engine_process import EngineProcess
from assistant.process.wire import CHAT, Protocol
from assistant.request import AnyJob, EngineArgs, Message, Request, Sampling
from assistant.service import EventStream
from tests.asking import Asking, NearEngine
from tests.patience import WAIT_S

Kind = TypeVar("Kind")
LONG = 30_000
"""Tokens of an answer that takes half a minute and is stopped early."""
HOT = Sampling(temperature=30)  # or a tiny model says one byte forever


class Heard:
    """The events of an engine, in order."""

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

    def load(self, engine: Asking, setup: EngineArgs | None) -> None:
        if setup is not None:
            engine.submit(setup)
            self.until(Ready)

    def end(self) -> Any:
        return self.until(Ready, Finished, Failed, RaceOver)

    def is_silent(self) -> bool:
        return self._queue.empty()

    def of(self, kind: type[Kind], lane: int | None = None) -> list[Kind]:
        """Return the events of a class, or those among what a lane of a race said."""
        said = (
            self.events if lane is None else [e.event for e in self.of(LaneEvent) if e.lane == lane]
        )
        return [event for event in said if isinstance(event, kind)]


def unheard(job: AnyJob) -> EventStream:
    """Return a stream that nobody reads."""
    return EventStream(job, lambda *_: None)


@contextmanager
def near(load: EngineArgs | None = None) -> Iterator[tuple[Asking, Heard]]:
    """Have an engine in this process, with models if there are to be any."""
    heard = Heard()
    engine = Asking(NearEngine, heard.emit)
    try:
        heard.load(engine, load)
        yield engine, heard
    finally:
        engine.close()
        assert engine.process._worker is None


@contextmanager
def running(
    worker: str | None = None, protocol: Protocol = CHAT, load: EngineArgs | None = None
) -> Iterator[tuple[Asking, Heard]]:
    heard = Heard()
    protocol = replace(protocol, worker=worker or protocol.worker)
    engine = Asking(partial(EngineProcess, protocol=protocol), heard.emit)
    try:
        heard.load(engine, load)
        yield engine, heard
    finally:
        engine.close()
        assert engine.pid is None


def ask(text: str = "Why?", **settings: Any) -> Request:
    settings = {"mode": "sps", "lookahead": 3, "max_tokens": 20, "seed": 1, **settings}
    return Request((Message("user", text),), HOT, **settings)
