"""`engine_console`: Ctrl-C while the engine works for a command."""

import asyncio
import os
import signal
from errno import EMFILE
from io import StringIO
from typing import cast

import pytest
from rich.console import Console

from assistant.events import Failed, Loading, Prefilled
from assistant.lab.bench.answers import Compared
from assistant.lab.protocol import LAB, LabEvent, Lockstep
from assistant.process.wire import Protocol
from assistant.request import AnyJob
from assistant.service import EventStream
from models.errors import Cancelled, ContextFull
from tests.scripts import ended
from tui.shell.engine_console import EngineConsole, Stopped

DONE = Compared(())


class Engine:
    """An engine that takes a while for everything but to stop."""

    def __init__(self, protocol: Protocol) -> None:
        assert protocol is LAB
        self.closed = False
        self.end: LabEvent | None = None  # with which jobs end at once
        self.pressed = False  # whether Ctrl-C is pressed while they are done

    def do(self, job: AnyJob) -> EventStream:
        stream = EventStream(job, self._stop)
        if self.end:
            stream.put(self.end, last=True)
        if self.pressed:
            asyncio.get_running_loop().call_later(0.1, press)
        return stream

    def _stop(self, stream: EventStream, order: object) -> None:
        stream.put(Failed("Stopped.", Cancelled.__name__), last=True)

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> EngineConsole:
    monkeypatch.setattr("tui.shell.engine_console.EngineProcess", Engine)
    return EngineConsole(LAB)


def at_work(console: EngineConsole, end: LabEvent | None = None) -> Engine:
    """Return the engine of a command, whose jobs end at once if they are to."""
    engine = cast(Engine, console.engine)
    engine.end = end
    return engine


def press(*_: object) -> None:
    """Press Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_raises_where_there_is_nothing_to_keep_and_is_what_it_was_afterwards(
    console: EngineConsole,
) -> None:
    before = signal.getsignal(signal.SIGINT)
    with console.open():
        assert signal.getsignal(signal.SIGINT) != before
        engine = at_work(console, DONE)
        with pytest.raises(KeyboardInterrupt):
            press()
        with pytest.raises(KeyboardInterrupt) as raised:
            console.run(Lockstep(()), press, stoppable=False)
    assert raised.type is not Stopped
    assert not console.interrupted
    assert engine.closed
    assert signal.getsignal(signal.SIGINT) == before


def test_ctrl_c_stops_the_engine_and_a_second_one_does_not_wait(console: EngineConsole) -> None:
    with console.open():
        at_work(console).pressed = True
        with pytest.raises(Stopped):
            console.run(Lockstep(()))
        assert console.interrupted
        with pytest.raises(KeyboardInterrupt) as raised:
            press()
    assert raised.type is not Stopped


def test_ctrl_c_between_two_jobs_stops_the_next(console: EngineConsole) -> None:
    with console.open():
        at_work(console, DONE)
        assert console.run(Lockstep(())) == DONE
        press()
        at_work(console)
        with pytest.raises(Stopped):
            console.run(Lockstep(()))


def test_failure_is_raised_as_what_it_was(console: EngineConsole) -> None:
    with console.open():
        at_work(console, Failed("Too long.", ContextFull.__name__))
        with pytest.raises(ContextFull, match="Too long"):
            console.run(Lockstep(()))


def test_models_are_called_what_the_chat_calls_them(console: EngineConsole, monkeypatch) -> None:
    printed: list[str] = []
    monkeypatch.setattr(console, "show_progress", printed.append)
    for fraction in (0.5, 1.0):
        console.show_waiting(Loading("target", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", fraction))
    assert printed == ["loading Qwen2.5 Coder 1.5B: 50%", "preparing Qwen2.5 Coder 1.5B"]


def test_progress_is_shown_again_before_another_answer_and_not_amid_one(
    console: EngineConsole,
) -> None:
    console.console = Console(file=(written := StringIO()), force_terminal=True)
    with console.open():
        for role in ("target", "draft"):
            console.hide_progress()
            before = written.tell()
            console.show_waiting(Prefilled(role, 1, 100))
            console.hide_progress()
            assert (written.tell() > before) == (role == "target")


@pytest.mark.parametrize(
    ("error", "reports"), [(asyncio.CancelledError, 0), (SystemExit, 0), (ValueError, 1)]
)
def test_a_start_that_is_cancelled_or_a_job_that_a_signal_ends_is_nothing_to_report(
    console: EngineConsole,
    caplog: pytest.LogCaptureFixture,
    error: type[BaseException],
    reports: int,
) -> None:
    async def start() -> None:
        waiter = asyncio.get_running_loop().create_future()
        waiter.set_exception(error())  # as asyncio does, whose start nobody waits for any more

    with console.open():
        console.wait(start())
    assert len(caplog.records) == reports


def test_connections_that_have_to_wait_are_reported_once(
    console: EngineConsole, capfd: pytest.CaptureFixture[str]
) -> None:
    error = {"message": "", "socket": None, "exception": OSError(EMFILE, "Too many open files")}
    with console.open():
        for _ in range(2):
            console._loop.get_loop().call_exception_handler(error)
    assert capfd.readouterr().err.count("have to wait: Too many open files.") == 1


def test_ctrl_z_gives_the_cursor_back_and_is_no_error_while_the_console_writes() -> None:
    """The signal is handled within the write of a buffer, which no other write may enter."""
    script = """
import io, os, signal, sys
from tui.app.signals import signal_handlers
from tui.shell.engine_console import EngineConsole

class Interrupted(io.RawIOBase):
    def writable(self): return True
    def isatty(self): return True
    def fileno(self): return 2
    def write(self, data):
        os.kill(os.getpid(), signal.SIGTSTP)
        return len(data)

os.setsid()  # in a session of its own it is not stopped
os.environ["TERM"] = "xterm"
sys.stderr = io.TextIOWrapper(io.BufferedWriter(Interrupted()), write_through=True)
sys.stdin.isatty = lambda: True
console = EngineConsole()
with signal_handlers({signal.SIGTSTP: console._pause}):
    console.console.show_cursor(False)
print("written")
"""
    done = ended(script)
    assert (done.stdout, done.stderr) == ("written\n", "\x1b[?25h")
