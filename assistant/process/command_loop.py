"""The engine's side of the pipes: commands in, events out."""

import os
from collections.abc import Mapping
from threading import Lock
from typing import Any, NoReturn

from assistant.engine.engine import Engine
from assistant.engine.workplace import Handler
from assistant.process.protocol import Begun, Command, Last, Ping, Pong, Protocol
from assistant.process.wire import Codec, Frames, Garbled, framed
from assistant.request import Cancel, Steer

CHUNK = 65536


class Outlet:
    """The pipe that events leave by; any thread may send."""

    def __init__(self, pipe: int, codec: Codec[Any]) -> None:
        self._pipe, self._codec = pipe, codec
        self._turn = Lock()

    def send(self, *said: object) -> None:
        """Send messages, whole, before another thread's.

        Raises:
            TypeError: a part of them is no plain value, and nothing was sent.
        """
        rest = memoryview(b"".join(framed(self._codec.encode(each)) for each in said))
        with self._turn:
            try:
                while rest:
                    rest = rest[os.write(self._pipe, rest) :]
            except BrokenPipeError:
                leave()


def serve(
    commands: int, events: int, protocol: Protocol, handlers: Mapping[type, Handler]
) -> NoReturn:
    """Obey until nobody is left to command, also while the engine's thread computes.

    `handlers` do the jobs of the protocol.
    """
    outlet = Outlet(events, protocol.messages)
    engine = Engine(outlet.send, lambda end: outlet.send(Last(), end), handlers)
    frames = Frames()
    while data := os.read(commands, CHUNK):
        try:
            for message in frames.feed(data):
                _obey(protocol.commands.decode(message), engine, outlet)
        except Garbled as error:
            os.write(2, f"garbled command: {error}\n".encode())
            os._exit(1)
    leave()


def leave() -> NoReturn:
    """Exit immediately: nobody is listening, and there is nothing to save."""
    os._exit(0)


def _obey(command: Command, engine: Engine, outlet: Outlet) -> None:
    match command:
        case Steer():
            engine.steer(command)
        case Cancel():
            engine.cancel()
        case Ping():
            outlet.send(Pong())
        case _:
            outlet.send(Begun())
            engine.give(command)
