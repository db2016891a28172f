"""What the app's threads tell its screens."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from assistant.request import Setup
from models.errors import StorageError

if TYPE_CHECKING:  # it imports SQLite, which the first frame does not wait for
    from assistant.store import Store


@dataclass
class Located(Message):
    """The model files were found on this machine."""

    setup: Setup
    no_draft: str | None
    """Why no draft goes with the target, if none does."""


@dataclass
class NotLocated(Message):
    """The target is not on this machine, or the reference to it is invalid."""

    reason: str
    missing: bool
    """Whether fetching a model would help."""


@dataclass
class StoreOpened(Message):
    """The store of conversations is open, or another one replaces it."""

    store: "Store"
    error: StorageError | None
    """Why nothing is kept, if so."""


@dataclass
class ThreadDied(Message):
    """A thread ended in an exception that nothing caught, which is a bug."""

    error: BaseException
