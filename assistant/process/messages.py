"""What the two processes say to each other besides jobs and events."""

from dataclasses import dataclass

from assistant.events import Event
from assistant.process.wire import Codec
from assistant.request import Job, Mode, Sampling


@dataclass(frozen=True, slots=True)
class Steer:
    """Change how the last answer asked for is decoded."""

    mode: Mode
    lookahead: int | None
    sampling: Sampling | None = None  # None: as the request has it


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop every job given so far."""


@dataclass(frozen=True, slots=True)
class Ping:
    """Give a sign of life."""


@dataclass(frozen=True, slots=True)
class Pong:
    """A sign of life."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The oldest job is being done."""


@dataclass(frozen=True, slots=True)
class Done:
    """The oldest job is over; all of its events have been sent."""


Command = Job | Steer | Cancel | Ping
Said = Event | Pong | Begun | Done

COMMANDS: Codec[Command] = Codec(Command)
SAID: Codec[Said] = Codec(Said)
