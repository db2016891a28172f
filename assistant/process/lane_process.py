"""A lane in a separate process, as it needs another engine: it computes only while it is stepped.

The process is `python -m MODULE COMMANDS EVENTS PARENT`; each job makes an iterator there, and each
`NextStep` is answered by what that yields next.
"""

import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from assistant.decoding.lookahead.policy import Control
from assistant.events import Failed
from assistant.process.wire import Codec, Frames, framed
from assistant.request import Cancel
from models import child_process
from models.cancel import CancelFlag
from models.errors import Cancelled, EngineDied, SpecchatError

CHUNK = 65536
LOOK_S = 0.1
"""Seconds between two looks whether the loading is to be stopped."""
FAREWELL_S = 3.0
"""Seconds that the process has to go by itself once its commands have ended."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """Compute until there is something to say."""


@dataclass(frozen=True, slots=True)
class LaneProtocol:
    """The module that runs lanes, and what both its ends know."""

    module: str
    jobs: Any  # a union of classes
    said: Any  # a union of classes, `Failed` among them

    @property
    def commands(self) -> Codec[Any]:
        """What goes to the process."""
        return Codec(self.jobs | NextStep | Cancel)

    @property
    def events(self) -> Codec[Any]:
        """What comes from it."""
        return Codec(self.said)


class LaneProcess:
    """Start a process, and iterate over what it says of one job after the other.

    Iterating raises:
        EngineDied: the process ended.
        Cancelled: `cancel` was raised before it had said anything.

    Args:
        protocol: what it runs.
        cancel: raised, it has the process stop at its next step.
    """

    def __init__(self, protocol: LaneProtocol, cancel: CancelFlag) -> None:
        self._commands, self._events = protocol.commands, protocol.events
        self._cancel = cancel
        read, self._to = os.pipe()
        self._from, write = os.pipe()
        self._process = child_process.start(
            protocol.module,
            read,
            write,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(read, write),
        )
        os.close(read)
        os.close(write)
        self._frames = Frames()
        self._waiting: list[bytes] = []

    def begin(self, job: object) -> Iterator[Any]:
        """Send a job; yield what the process says of it, a step each."""
        self._send(job)
        self._send(NextStep())
        self._wait()
        yield self._receive()
        stopped = False
        while True:
            if self._cancel.raised and not stopped:
                stopped = True
                self._send(Cancel())
            self._send(NextStep())
            yield self._receive()

    def _wait(self) -> None:
        """Wait for the first word, before which models are loaded; a cancel ends the process."""
        while not select.select([self._from], [], [], LOOK_S)[0]:
            if self._cancel.raised:
                self._process.kill()
                raise Cancelled

    def _send(self, command: object) -> None:
        with suppress(BrokenPipeError):  # `_receive` tells
            os.write(self._to, framed(self._commands.encode(command)))

    def _receive(self) -> Any:
        while not self._waiting:
            if not (data := os.read(self._from, CHUNK)):
                raise EngineDied("The process of a lane with another engine ended. Ask again.")
            self._waiting += self._frames.feed(data)
        return self._events.decode(self._waiting.pop(0))

    def close(self) -> None:
        """End the process."""
        for pipe in (self._to, self._from):
            os.close(pipe)
        try:
            self._process.wait(FAREWELL_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def serve(protocol: LaneProtocol, work: Callable[[Any, Control], Iterator[object]]) -> NoReturn:
    """Do jobs, each a step at a time, until nobody is left to command."""
    read, write, parent = map(int, sys.argv[1:])
    child_process.die_with(parent)
    commands, events, frames = protocol.commands, protocol.events, Frames()
    control = Control()
    saying: Iterator[object] = iter(())
    while data := os.read(read, CHUNK):
        for message in frames.feed(data):
            match commands.decode(message):
                case NextStep():
                    os.write(write, framed(events.encode(_next(saying))))
                case Cancel():
                    control.cancel.raise_()
                case job:
                    control.cancel.lower()
                    saying = work(job, control)
    os._exit(0)


def _next(saying: Iterator[object]) -> object:
    try:
        return next(saying)
    except SpecchatError as error:
        return Failed(str(error), type(error).__name__)
