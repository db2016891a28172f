"""Standard input, which may have no end."""

import sys
from threading import Timer

import click

from assistant.talk.attachments import LIMIT
from models.errors import UsageError

PATIENCE_S = 5.0
"""Seconds after which the user is told what is waited for."""


def read_piped() -> bytes:
    """Return all of standard input, as far as it can be sent.

    Raises:
        UsageError: it is larger, or has no end.
    """
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
