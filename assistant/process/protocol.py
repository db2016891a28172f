"""What the two processes say to each other: jobs and orders one way, events the other.

Everything travels in an `Envelope`. An empty one to the worker asks for a sign of life; an empty
one from it is that sign, which the worker also gives when it begins a job.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assistant.events import Event
from assistant.process.wire import Codec
from assistant.request import Cancel, Job, NextStep, Steer


@dataclass(frozen=True)
class Protocol:
    """Which worker is started, and the jobs and events that both its ends know."""

    worker: str  # the module that runs it
    jobs: Any  # a union of classes that are a `AnyJob`
    events: Any  # a union of classes

    @cached_property
    def commands(self) -> Codec:
        """What goes to the worker."""
        return Codec(self.jobs | Steer | NextStep | Cancel)

    @cached_property
    def messages(self) -> Codec:
        """What comes from the worker."""
        return Codec(self.events)


CHAT = Protocol("assistant.process.worker", Job, Event)
