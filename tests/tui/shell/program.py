"""The program as a shell starts it, in a process of its own or in this one."""

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click
import pytest
from click.testing import CliRunner, Result

from assistant.engine.engine import HANDLERS
from assistant.lab.protocol import LAB
from assistant.lab.worker import laboratories
from assistant.process.wire import Envelope, Protocol
from assistant.request import AnyJob
from assistant.service import EventStream
from tests import ROOT, tiny
from tests.engine import ENGINE
from tests.in_process_engine import InProcessEngine
from tests.patience import WAIT_S
from tests.scripted_engine import Script, ScriptedEngine
from tui.shell.cli import main

MAIN = "from tui.__main__ import main; main()"
# A random model is most sure of a few bytes; heat makes its text vary.
HOT = (
    "--temperature", "14", "--top-k", "0", "--top-p", "1", "--threads", "1", "--ctx", "512",
    "--seed", "5",
)  # fmt: skip

ENDLESS = ("--temperature", "1.5", "--threads", "1", "--ctx", "30000")  # no stop token in sight


AGAIN_AND_AGAIN = """
import {module}
from itertools import count
def forever(*arguments, _once={module}.{function}, _number=count(), **named):
    while next(_number) >= {after}:
        _once(*arguments, **named)
    return _once(*arguments, **named)
{module}.{function} = forever
"""


def endless(module: str, function: str, after: int = 0) -> str:
    """Return code that has a function, after some calls, do the same forever."""
    return AGAIN_AND_AGAIN.format(module=module, function=function, after=after)


def invoke(command: click.Command, *arguments: object, **options: Any) -> Result:
    """Run a command alone, and let what is no end of it through."""
    result = CliRunner().invoke(command, [*map(str, arguments)], **options)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


class Started(subprocess.Popen[str]):
    """A program whose output goes to pipes."""

    stdout: IO[str]
    stderr: IO[str]


@contextmanager
def started(*arguments: object, first: str = "", **options) -> Iterator[Started]:
    """Start the program, in a process that runs some code `first`; it ends with its test."""
    with Started(
        [sys.executable, "-c", first + MAIN, *map(str, arguments)],
        stdin=options.pop("stdin", subprocess.DEVNULL),
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=options.pop("stderr", subprocess.PIPE),
        cwd=ROOT,
        env={**os.environ, **options.pop("env", {})},
        text=True,
        **options,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def run_apart(*arguments: object, **options) -> tuple[int, str, str]:
    """Run the program in a process of its own; return its exit code and what it printed."""
    with started(*arguments, **options) as process:
        out, err = process.communicate(timeout=WAIT_S)
    return process.returncode, out, err


def run_until(text: str, *arguments: object, **options) -> tuple[int, str, str]:
    """Run the program until a line of its errors has a text, and press Ctrl-C then."""
    with started(*arguments, **options) as process:
        while text not in (line := process.stderr.readline()):
            assert line, "it has ended"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WAIT_S)
    assert "Traceback" not in err
    return process.returncode, out, err


def run(
    *arguments: object, stdin: str | None = None, env: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Run the program, engine and all, in this process; return as `run_apart` does."""
    given = io.TextIOWrapper(io.BytesIO((stdin or "").encode()))
    printed, errors = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(each, "utf-8", write_through=True) for each in (printed, errors))
    streams = {"stdin": given, "stdout": out, "stderr": err}
    with pytest.MonkeyPatch.context() as patch:
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        # One engine is loaded here, and there cannot be another one beside it.
        for name, value in {"SPECCHAT_ENGINE": ENGINE, **(env or {})}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["specchat", *map(str, arguments)])
        patch.setattr("signal.signal", lambda number, handler: None)
        patch.setattr("tui.shell.engine_console.EngineProcess", SerialisingEngine)
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    assert isinstance(code, int)
    return code, printed.getvalue().decode(), errors.getvalue().decode()


def ask(target: Path, *arguments: object, **options) -> tuple[int, str, str]:
    """Ask a target that has no draft, as `run` does."""
    return run("ask", "--target", target, "--draft", "none", *HOT, *arguments, **options)


def use_script(folder: Path, patch: pytest.MonkeyPatch, script: Script, n_ctx: int) -> list[str]:
    """Have commands get an engine with a script; return the options that name its model."""
    target = tiny.write(folder / "target.gguf", seed=0, stops=False, n_ctx=n_ctx)
    patch.setattr("tui.shell.engine_console.EngineProcess", lambda protocol: ScriptedEngine(script))
    return ["--target", str(target), "--draft", "none", "--ctx", str(n_ctx)]


class SerialisingEngine(InProcessEngine):
    """An engine in this process; what it hears and says is what comes through a pipe."""

    def __init__(self, protocol: Protocol) -> None:
        self._commands, self._messages = protocol.commands, protocol.messages
        super().__init__(laboratories()[1] if protocol is LAB else HANDLERS)

    def do(self, job: AnyJob) -> EventStream:
        return super().do(self._commands.decode(self._commands.encode(Envelope(0, job))).content)

    def replace_event(self, event: object, last: bool) -> Any:
        return self._messages.decode(self._messages.encode(Envelope(0, event))).content
