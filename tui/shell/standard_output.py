"""Standard output and input: the one place where their errors are understood."""

import errno
import io
import os
import sys
from threading import Timer
from typing import TYPE_CHECKING

import click

from models.errors import StorageError, UsageError
from tui.safe import safe

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

PATIENCE_S = 5.0
"""Seconds after which the user is told what is waited for."""


class StandardOutput(io.FileIO):
    """The file that `sys.stdout` writes to. After an error, what is still printed is dropped."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write some bytes.

        Raises:
            BrokenPipeError: nobody reads any more.
            StorageError: they cannot be written, as on a full disk.
        """
        try:
            return super().write(data)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())  # Python flushes at its end
            if isinstance(error, BrokenPipeError):
                raise
            why = "closed" if error.errno == errno.EBADF else error.strerror
            raise StorageError(
                f"Standard output cannot be written ({why}), so it is not complete. "
                "Free some space, or send it to another place."
            ) from error


def put(data: bytes) -> None:
    """Print bytes as they are; on a terminal, so that none of them commands it.

    Raises:
        StorageError: they cannot be written.
    """
    is_seen = sys.stdout is not None and sys.stdout.isatty()
    click.echo(safe(data.decode("utf-8", "replace")) if is_seen else data, nl=False)


def guard() -> None:
    """Have everything that is printed from now on pass through `StandardOutput`."""
    if sys.stdout is None:  # closed: nothing else may get its number, and to write is an error
        os.dup2(os.open(os.devnull, os.O_RDONLY), 1)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    out = sys.stdout
    try:
        descriptor = out.fileno()
    except OSError:  # not a file at all
        return
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(StandardOutput(descriptor, "wb", closefd=False)),
        encoding=out.encoding,
        errors=out.errors,
        line_buffering=bool(out.line_buffering),
    )


def read_piped() -> bytes:
    """Return all of standard input, as far as it can be sent.

    Raises:
        UsageError: it is larger, or has no end.
    """
    from assistant.session.attachments import LIMIT  # few read it

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
