"""What a command does about Ctrl-C while the engine works for it."""

import os
import signal
from collections.abc import Callable
from threading import Timer
from typing import cast

import pytest

from assistant.events import Failed
from assistant.lab.bench.events import Gauged
from assistant.lab.events import LabEvent
from assistant.lab.jobs import Gauge
from assistant.lab.protocol import LAB
from assistant.process.protocol import Protocol
from models.errors import Cancelled, ContextFull
from tui.shell.engine_console import EngineConsole, Stopped

DONE = Gauged(1.0)


class Engine:
    """An engine that takes a while for everything but to stop."""

    def __init__(self, emit: Callable[[LabEvent], None], protocol: Protocol) -> None:
        assert protocol is LAB
        self.emit = emit
        self.closed = False
        self._jobs: list[Timer] = []

    def submit(self, job: Gauge) -> None:
        self._jobs.append(Timer(3.0, self.emit, [DONE]))
        self._jobs[-1].start()

    def cancel(self) -> None:
        while self._jobs:
            self._jobs.pop().cancel()
            self.emit(Failed("Stopped.", Cancelled.__name__))

    def close(self) -> None:
        self.cancel()
        self.closed = True


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> EngineConsole:
    monkeypatch.setattr("tui.shell.engine_console.EngineProcess", Engine)
    return EngineConsole("waiting", protocol=LAB)


def at_work(listening: EngineConsole) -> Engine:
    """Return the engine of a command."""
    return cast(Engine, listening.engine)


def press(*_: object) -> None:
    """Press Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_raises_where_there_is_nothing_to_keep(listening: EngineConsole) -> None:
    with listening.shown():
        engine = at_work(listening)
        with pytest.raises(KeyboardInterrupt):
            press()
        engine.emit(DONE)
        with pytest.raises(KeyboardInterrupt) as raised:
            listening.until(Gauged, press, keeps=False)
    assert raised.type is not Stopped
    assert not listening.interrupted
    assert engine.closed


def test_ctrl_c_has_the_engine_stop_and_a_second_one_does_not_wait(
    listening: EngineConsole,
) -> None:
    with listening.shown():
        listening.engine.submit(Gauge())
        at_work(listening).emit(Failed("It is over.", Cancelled.__name__))
        with pytest.raises(Stopped):
            listening.until(Gauged, press)
        assert listening.interrupted
        with pytest.raises(KeyboardInterrupt) as raised:
            press()
    assert raised.type is not Stopped


def test_ctrl_c_between_two_jobs_stops_the_next(listening: EngineConsole) -> None:
    with listening.shown():
        at_work(listening).emit(DONE)
        assert listening.until(Gauged) == DONE
        press()
        listening.engine.submit(Gauge())
        with pytest.raises(Stopped):
            listening.until(Gauged)


def test_failure_is_raised_as_what_it_was(listening: EngineConsole) -> None:
    with listening.shown():
        at_work(listening).emit(Failed("Too long.", ContextFull.__name__))
        with pytest.raises(ContextFull, match="Too long"):
            listening.until(Gauged)


def test_ctrl_c_is_what_it_was_afterwards(listening: EngineConsole) -> None:
    before = signal.getsignal(signal.SIGINT)
    with listening.shown():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
