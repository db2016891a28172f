"""The worker's side of the pipes: commands in, events out."""

import os
from collections.abc import Mapping
from typing import NoReturn

from assistant.engine.engine import Engine
from assistant.engine.engine_state import Handler
from assistant.process import wire
from assistant.process.protocol import Protocol
from assistant.process.wire import Codec, Envelope, Garbled
from assistant.request import Cancel, NextStep, Steer


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


def serve(
    commands: int, events: int, protocol: Protocol, handlers: Mapping[type, Handler]
) -> NoReturn:
    """Obey until nobody is left to command, also while the engine's thread computes.

    `handlers` do the jobs of the protocol.
    """
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


def _obey(command: Envelope, engine: Engine, outlet: Outlet) -> None:
    match command.content:
        case None:
            outlet.send(command)  # a sign of life, as it was asked for
        case Steer() as how:
            engine.steer(command.job, how)
        case NextStep():
            engine.step(command.job)
        case Cancel():
            engine.cancel(command.job)
        case job:
            outlet.send(Envelope(command.job))  # it has begun
            engine.give(command.job, job)
