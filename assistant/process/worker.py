"""The engine's process: `python -m assistant.process.worker`.

Commands come by its standard input and events leave by its standard output; output of libraries
goes to standard error. It never outlives its client, leaves no core file, opens no connection if
the system can prevent that, and does not use the terminal.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn

from assistant.process import wire
from assistant.process.wire import CHAT, Envelope, Garbled, Protocol
from assistant.request import Cancel, NextStep, UpdateRequest
from models import child_process

if TYPE_CHECKING:
    from assistant.engine.engine import Handler

Jobs = tuple[Protocol, "Mapping[type, Handler]"]
"""A protocol, and handlers for its jobs."""

SWITCH_S = 0.0005
"""Seconds that a thread may compute while another waits: a library that loads weights calls back
for each tensor, while modules are imported."""


def main(load_jobs: Callable[[], Jobs]) -> NoReturn:
    """Confine this process, and then do jobs.

    `load_jobs` returns the jobs it can do. It imports native code, which may print, start threads,
    or end this process.
    """
    commands, events = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the client
    child_process.confine()
    sys.setswitchinterval(SWITCH_S)
    serve(commands, events, *load_jobs())


def serve(
    commands: int, events: int, protocol: Protocol, handlers: Mapping[type, Handler]
) -> NoReturn:
    """Obey commands until the pipe ends, also while the engine's thread computes."""
    from assistant.engine.engine import Engine  # native code; see `main`
    from assistant.engine.load import preload
    from models.native import repacked

    inlet, outlet = os.fdopen(commands, "rb"), os.fdopen(events, "wb")

    def send(number: int, content: object = None, last: bool = False) -> None:
        message = wire.frame(protocol.messages.encode(Envelope(number, content, last)))
        try:
            outlet.write(message)  # whole: threads take turns
            outlet.flush()
        except BrokenPipeError:  # the client has ended, and there is nothing to save
            os._exit(0)

    engine = Engine(send, handlers)
    try:
        while (message := wire.read(inlet)) is not None:
            number, content, _ = protocol.commands.decode(message)
            if isinstance(content, UpdateRequest | NextStep | Cancel):
                engine.order(number, content)
                continue
            send(number)  # a sign of life, which was requested; or a job has started
            if content is not None:
                engine.submit(number, content)
                preload()
    except Garbled as error:
        os.write(2, f"garbled command: {error}\n".encode())
        os._exit(1)
    repacked.make_later()
    os._exit(0)


def chat() -> Jobs:
    """Return the jobs of a chat's worker."""
    from assistant.engine.engine import HANDLERS

    return CHAT, HANDLERS


if __name__ == "__main__":
    main(chat)
