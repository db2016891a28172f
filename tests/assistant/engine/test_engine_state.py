"""The state of an engine that handlers share stays until the models are freed."""

from dataclasses import dataclass
from functools import partial

from assistant.engine.engine import HANDLERS
from assistant.events import Ready
from assistant.request import EngineArgs
from tests.assistant.process.event_log import EventLog
from tests.in_process_engine import BlockingEngine, InProcessEngine


@dataclass(frozen=True)
class Open:
    """A job that opens something which stays."""


class Something:
    """What stays until models are freed."""

    def __init__(self, *_: object) -> None:
        self.is_open = True

    def close(self) -> None:
        self.is_open = False


def test_the_state_of_a_handler_stays_until_models_are_freed(tiny_target):
    received = EventLog()
    handlers = {**HANDLERS, Open: lambda job, state: state.get_or_create(Something)}
    engine = BlockingEngine(partial(InProcessEngine, handlers), received.emit)
    try:
        engine.submit(Open())
        engine.submit(Open())
        first, second = received.until(Something), received.until(Something)
        assert first is second
        assert first.is_open
        engine.submit(EngineArgs(tiny_target, n_ctx=512, threads=1, measure=False))
        received.until(Ready)
        assert not first.is_open
        engine.submit(Open())
        third = received.until(Something)
        assert third is not first
    finally:
        engine.close()
    assert not third.is_open
