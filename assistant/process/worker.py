"""The process that computes: `python -m assistant.process.worker PARENT`.

Commands come by its standard input and events leave by its standard output; what libraries print
goes to standard error. PARENT is the number of the process that asks. This one never outlives it,
leaves no core file, opens no connection where the system can see to that (but to machines that are
to compute layers), and keeps away from the terminal.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn

from assistant.process import wire
from assistant.process.landlock import forbid_connections
from assistant.process.wire import CHAT, Codec, Envelope, Garbled, Protocol
from assistant.request import Cancel, NextStep, Steer
from models import child_process
from models.errors import UsageError
from models.machine import rpc_servers

if TYPE_CHECKING:
    from assistant.engine.engine import Engine, Handler

Jobs = tuple[Protocol, "Mapping[type, Handler]"]
"""A protocol, and handlers for its jobs."""


def main(known: Callable[[], Jobs]) -> NoReturn:
    """Confine this process, and then do jobs.

    `known` returns what it can do. It imports native code: that may print, start threads, or end
    this process.
    """
    commands, events = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    _confine(int(sys.argv[-1]))
    serve(commands, events, *known())


def serve(
    commands: int, events: int, protocol: Protocol, handlers: Mapping[type, Handler]
) -> NoReturn:
    """Obey until nobody is left to command, also while the engine's thread computes."""
    from assistant.engine.engine import Engine  # native code; see `main`

    outlet = Outlet(events, protocol.messages)
    engine = Engine(lambda *said: outlet.send(Envelope(*said)), handlers)
    pipe = os.fdopen(commands, "rb")
    try:
        while (message := wire.read(pipe)) is not None:
            _obey(protocol.commands.decode(message), engine, outlet)
    except Garbled as error:
        os.write(2, f"garbled command: {error}\n".encode())
        os._exit(1)
    leave()


def leave() -> NoReturn:
    """Exit immediately: nobody is listening, and there is nothing to save."""
    os._exit(0)


class Outlet:
    """The pipe that events leave by; any thread may send."""

    def __init__(self, pipe: int, codec: Codec) -> None:
        self._pipe, self._codec = os.fdopen(pipe, "wb"), codec

    def send(self, envelope: Envelope) -> None:
        """Send an envelope, whole, before another thread's.

        Raises:
            TypeError: a part of it is no plain value, and nothing was sent.
        """
        message = wire.framed(self._codec.encode(envelope))
        try:
            self._pipe.write(message)  # which takes turns
            self._pipe.flush()
        except BrokenPipeError:
            leave()


def _obey(command: Envelope, engine: Engine, outlet: Outlet) -> None:
    match command.content:
        case None:
            outlet.send(command)  # a sign of life, as it was asked for
        case Steer() | NextStep() | Cancel() as order:
            engine.order(command.job, order)
        case job:
            outlet.send(Envelope(command.job))  # it has begun
            engine.give(command.job, job)


def _confine(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold the conversation
    child_process.die_with(parent)
    try:
        ports = [server.port for server in rpc_servers()]
    except UsageError:  # it is said when a model is loaded
        ports = []
    forbid_connections(ports)  # before there is a second thread, which it would not bind


def chat() -> Jobs:
    """Return what a chat's worker can do."""
    from assistant.engine.engine import HANDLERS

    return CHAT, HANDLERS


if __name__ == "__main__":
    main(chat)
