"""What the two processes say to each other: jobs one way, events the other, and signs of life."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assistant.events import Event
from assistant.process.wire import Codec
from assistant.request import AnyJob, Cancel, Job, Steer


@dataclass(frozen=True, slots=True)
class Ping:
    """Give a sign of life."""


@dataclass(frozen=True, slots=True)
class Pong:
    """A sign of life."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The job is being done."""


@dataclass(frozen=True, slots=True)
class Last:
    """The event that comes next is the job's last one."""


Command = AnyJob | Steer | Cancel | Ping


@dataclass(frozen=True)
class Protocol:
    """Which worker is started, and the jobs and events that both its ends know."""

    worker: str  # the module that runs it
    jobs: Any  # a union of classes that are a `AnyJob`
    events: Any  # a union of classes

    @cached_property
    def commands(self) -> Codec[Any]:
        """What goes to the worker."""
        return Codec(self.jobs | Steer | Cancel | Ping)

    @cached_property
    def messages(self) -> Codec[Any]:
        """What comes from the worker."""
        return Codec(self.events | Pong | Begun | Last)


CHAT = Protocol("assistant.process.worker", Job, Event)
