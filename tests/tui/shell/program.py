"""The program as a shell starts it, and the targets and heat its tests give it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import WAIT_S
from tui.shell.cli import main

ROOT = Path(__file__).parents[3]
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


def start(*arguments: object, first: str = "", **options) -> "subprocess.Popen[str]":
    """Start the program, in a process that runs some code `first`."""
    return subprocess.Popen(
        [sys.executable, "-c", first + MAIN, *map(str, arguments)],
        stdin=options.pop("stdin", subprocess.DEVNULL),
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=options.pop("stderr", subprocess.PIPE),
        cwd=ROOT,
        env={**os.environ, **options.pop("env", {})},
        text=True,
        **options,
    )


def run(*arguments: object, stdin: str | None = None, **options) -> tuple[int, str, str]:
    pipe = subprocess.DEVNULL if stdin is None else subprocess.PIPE
    process = start(*arguments, stdin=pipe, **options)
    out, err = process.communicate(stdin, timeout=WAIT_S)
    return process.returncode, out, err


def ended(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run the program in this process, which loads no engine; return as `run` does."""
    with open(os.devnull) as nothing, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", nothing)
        patch.setattr("sys.argv", ["specchat", *map(str, arguments)])
        patch.setattr("tui.shell.cli.signal.signal", lambda number, handler: None)
        with pytest.raises(SystemExit) as end:
            main()
    assert isinstance(end.value.code, int)
    return (end.value.code, *capsys.readouterr())
