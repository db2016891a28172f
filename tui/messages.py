"""What the app's threads tell its screens."""

from dataclasses import dataclass

from textual.message import Message

from assistant.events import Event
from assistant.request import Setup


@dataclass
class EngineSaid(Message):
    """The engine yielded an event."""

    event: Event


@dataclass
class Located(Message):
    """The model files were found on this machine."""

    setup: Setup
    no_draft: str | None
    """Why no draft goes with the target, if none does."""


@dataclass
class NotLocated(Message):
    """The target is not on this machine, or the reference to it makes no sense."""

    reason: str
    missing: bool
    """Whether fetching a model would help."""


@dataclass
class ThreadDied(Message):
    """A thread ended in an exception that nothing caught, which is a bug."""

    error: BaseException
