"""The engine's side of the pipes: commands in, events out."""

import os
from threading import Lock
from typing import NoReturn

from assistant.engine.engine import Engine
from assistant.process.frames import Frames, framed
from assistant.process.messages import (
    COMMANDS,
    SAID,
    Begun,
    Cancel,
    Command,
    Done,
    Ping,
    Pong,
    Said,
    Steer,
)
from assistant.process.wire import Garbled
from assistant.request import Count, Gauge, Job, Lockstep, Prove, Race, Request, Setup, Tune

CHUNK = 65536


class Outlet:
    """The pipe that events leave by; any thread may send."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._turn = Lock()

    def send(self, said: Said) -> None:
        """Send a message, whole, before another thread's."""
        rest = memoryview(framed(SAID.encode(said)))
        with self._turn:
            try:
                while rest:
                    rest = rest[os.write(self._pipe, rest) :]
            except BrokenPipeError:
                leave()


class ServingEngine(Engine):
    """The engine, which also says when a job begins and when it is over, whatever came of it."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        super().__init__(outlet.send)

    def _try(self, job: Job) -> None:
        self._outlet.send(Begun())
        super()._try(job)
        self._outlet.send(Done())


def serve(commands: int, events: int) -> NoReturn:
    """Obey until nobody is left to command, also while the engine's thread computes."""
    outlet = Outlet(events)
    engine = ServingEngine(outlet)
    frames = Frames()
    while data := os.read(commands, CHUNK):
        try:
            for message in frames.feed(data):
                _obey(COMMANDS.decode(message), engine, outlet)
        except Garbled as error:
            os.write(2, f"garbled command: {error}\n".encode())
            os._exit(1)
    leave()


def leave() -> NoReturn:
    """End at once: there is nobody to say farewell to, and nothing here that is worth keeping."""
    os._exit(0)


def _obey(command: Command, engine: Engine, outlet: Outlet) -> None:
    match command:
        case Setup():
            engine.load(command)
        case Request():
            engine.reply(command)
        case Race():
            engine.race(command)
        case Tune():
            engine.tune(command)
        case Lockstep() | Gauge():
            engine.measure(command)
        case Prove():
            engine.prove(command)
        case Count():
            engine.count(command)
        case Steer(mode, lookahead, sampling):
            engine.steer(mode, lookahead, sampling)
        case Cancel():
            engine.cancel()
        case Ping():
            outlet.send(Pong())
