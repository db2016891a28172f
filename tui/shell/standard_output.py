"""Standard output, error and input, and the handling of their errors."""

import errno
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, TextIO

import click

from models.errors import StorageError, UsageError
from tui.app.signals import hang_up_if_gone
from tui.safe import safe

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STDIN = Path("-")
"""Stands for standard input where a file is named."""
STDERR = 2  # its number
PATIENCE_S = 5.0
"""Seconds after which the user is told that standard input is being read."""


class StandardOutput(io.FileIO):
    """The file that `sys.stdout` and `sys.stderr` write to. After an error of `sys.stdout`, further
    output is dropped; `sys.stderr` drops what cannot be written.
    """

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write bytes; BrokenPipeError if the reader is gone, StorageError if the disk is full."""
        try:
            return super().write(data)
        except OSError as error:
            if self.fileno() == STDERR:  # an answer goes on without the notes about it
                return memoryview(data).nbytes
            try:
                if hang_up_if_gone(self.fileno()):
                    return memoryview(data).nbytes
            finally:
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())  # for the flush at exit
            if isinstance(error, BrokenPipeError):
                raise
            why = "closed" if error.errno == errno.EBADF else error.strerror
            raise StorageError(
                f"Standard output cannot be written ({why}), so it is not complete. "
                "Free some space, or send it to another place."
            ) from error


def put(data: bytes) -> None:
    """Print bytes as they are; on a terminal, with control characters made visible."""
    at_terminal = sys.stdout is not None and sys.stdout.isatty()
    click.echo(safe(data.decode("utf-8", "replace")) if at_terminal else data, nl=False)


def announce(text: str) -> None:
    """Print a sentence on standard error, also when an app has replaced `sys.stderr`."""
    with suppress(OSError):
        os.write(STDERR, f"specchat: {safe(text)}\n".encode())


def guard_streams() -> None:
    """Have `sys.stdout` and `sys.stderr` write to a `StandardOutput`."""
    sys.stdout, sys.stderr = _guard(1, sys.stdout), _guard(STDERR, sys.stderr)


def _guard(number: int, out: TextIO | None) -> TextIO:
    if out is None:  # closed: keep its number from other files
        os.dup2(os.open(os.devnull, os.O_RDONLY), number)
        out = os.fdopen(number, "w", encoding="utf-8", closefd=False)
    try:
        descriptor = out.fileno()
    except OSError:  # not a file at all
        return out
    return io.TextIOWrapper(
        io.BufferedWriter(StandardOutput(descriptor, "wb", closefd=False)),
        encoding=out.encoding,
        errors="replace",  # its encoding may lack a character
        line_buffering=bool(getattr(out, "line_buffering", False)),
    )


def read_piped() -> bytes:
    """Return standard input; UsageError if it is larger than an attachment may be, or endless."""
    from assistant.session.attachments import LIMIT  # few commands read input

    text = "Waiting for the end of standard input. Without any, add: </dev/null"
    waiting = Timer(PATIENCE_S, click.echo, [text], {"err": True})
    waiting.daemon = True
    waiting.start()
    try:
        data = sys.stdin.buffer.read(LIMIT + 1)
    finally:
        waiting.cancel()
    if len(data) > LIMIT:
        size = f"{LIMIT // 1_000_000} MB"
        raise UsageError(f"Standard input has more than {size}, or no end; send a part of it.")
    return data
