"""What a conversation tells its client, besides the events of the engine: what is to be shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assistant.events import Event
from assistant.request import ToolCall
from assistant.store.values import Attachment, StoredMessage
from assistant.tools.values import OfferedTool


@dataclass(frozen=True, slots=True)
class PathShown:
    """Show these messages instead of those on the screen."""

    path: Sequence[StoredMessage]


@dataclass(frozen=True, slots=True)
class Added:
    """Show a message at the end: a question, an answer that begins, or a call that runs."""

    record: StoredMessage


@dataclass(frozen=True, slots=True)
class Changed:
    """Show a message as it is now: it has ended, or it is an answer that goes on."""

    record: StoredMessage


@dataclass(frozen=True, slots=True)
class Removed:
    """Take a message off the screen: it was never answered, or has nothing in it."""

    record: StoredMessage


@dataclass(frozen=True, slots=True)
class AnswerEnded:
    """Stop showing that the engine works: the answer has ended."""


@dataclass(frozen=True, slots=True)
class FullyAnswered:
    """Ask what is to be asked next, if anything waits: the last answer has ended by itself."""


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """Ask the user whether a call may run; `ToolLoop.decide` takes what the user says.

    `urgent`: it follows from what has just ended.
    """

    call: ToolCall
    tool: OfferedTool
    urgent: bool


@dataclass(frozen=True, slots=True)
class ApprovalClosed:
    """Ask about no call any more."""


@dataclass(frozen=True, slots=True)
class InputRestored:
    """Put a text that was not answered back where the user types."""

    text: str
    attachments: tuple[Attachment, ...]


@dataclass(frozen=True, slots=True)
class NotSaved:
    """Say that the conversation is not saved from now on, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class NeedsModel:
    """Find a model: a question waits that nothing can answer."""


@dataclass(frozen=True, slots=True)
class Preparing:
    """Show that a folder is read or tools start, and how far; None: that is over, with its news."""

    text: str
    fraction: float | None


SessionEvent = (
    PathShown | Added | Changed | Removed | AnswerEnded | FullyAnswered | ApprovalRequested
    | ApprovalClosed | InputRestored | NotSaved | NeedsModel | Preparing
    | Event
)  # fmt: skip
Emit = Callable[[SessionEvent], None]
"""Is given each event, in order."""
