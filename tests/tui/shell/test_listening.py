"""What a command does about Ctrl-C while the engine works for it."""

import os
import signal
from threading import Timer
from typing import cast

import pytest

from assistant.events import Failed
from assistant.lab.bench.events import Gauged
from assistant.lab.protocol import LAB, Gauge, LabEvent
from assistant.process.protocol import Protocol
from assistant.request import AnyJob
from assistant.service import Hear, Ticket
from models.errors import Cancelled, ContextFull
from tests.patience import WAIT_S
from tui.shell.engine_console import EngineConsole, Stopped

DONE = Gauged(1.0)


class Engine:
    """An engine that takes a while for everything but to stop."""

    def __init__(self, protocol: Protocol) -> None:
        assert protocol is LAB
        self.closed = False
        self.end: LabEvent | None = None  # with which jobs end at once
        self.pressed = False  # whether Ctrl-C is pressed while they are done

    def submit(self, job: AnyJob, hear: Hear) -> Ticket:
        def end(event: LabEvent) -> None:
            hear(event)
            hear(None)

        later = Timer(0.0 if self.end else WAIT_S, end, [self.end or DONE])
        later.daemon = True
        later.start()
        if self.pressed:
            Timer(0.1, press).start()

        def tell(*_: object) -> None:
            later.cancel()
            end(Failed("Stopped.", Cancelled.__name__))

        return Ticket(job, hear, tell)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> EngineConsole:
    monkeypatch.setattr("tui.shell.engine_console.EngineProcess", Engine)
    return EngineConsole("waiting", protocol=LAB)


def at_work(listening: EngineConsole, end: LabEvent | None = None) -> Engine:
    """Return the engine of a command, whose jobs end at once if they are to."""
    engine = cast(Engine, listening.start())
    engine.end = end
    return engine


def press(*_: object) -> None:
    """Press Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_raises_where_there_is_nothing_to_keep(listening: EngineConsole) -> None:
    with listening.shown():
        engine = at_work(listening, DONE)
        with pytest.raises(KeyboardInterrupt):
            press()
        with pytest.raises(KeyboardInterrupt) as raised:
            listening.run(Gauge(), press, keeps=False)
    assert raised.type is not Stopped
    assert not listening.interrupted
    assert engine.closed


def test_ctrl_c_has_the_engine_stop_and_a_second_one_does_not_wait(
    listening: EngineConsole,
) -> None:
    with listening.shown():
        at_work(listening).pressed = True
        with pytest.raises(Stopped):
            listening.run(Gauge())
        assert listening.interrupted
        with pytest.raises(KeyboardInterrupt) as raised:
            press()
    assert raised.type is not Stopped


def test_ctrl_c_between_two_jobs_stops_the_next(listening: EngineConsole) -> None:
    with listening.shown():
        at_work(listening, DONE)
        assert listening.run(Gauge()) == DONE
        press()
        at_work(listening)
        with pytest.raises(Stopped):
            listening.run(Gauge())


def test_failure_is_raised_as_what_it_was(listening: EngineConsole) -> None:
    with listening.shown():
        at_work(listening, Failed("Too long.", ContextFull.__name__))
        with pytest.raises(ContextFull, match="Too long"):
            listening.run(Gauge())


def test_ctrl_c_is_what_it_was_afterwards(listening: EngineConsole) -> None:
    before = signal.getsignal(signal.SIGINT)
    with listening.shown():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
