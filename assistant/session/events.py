"""The events of a conversation for its client, which shows them; those of the engine are added."""

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
    """Show a message as it is now: it has ended, or it is an answer that continues."""

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
    """Send the next prompt, if one waits: the last answer has ended by itself."""


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """Ask the user whether a call may run; `ToolLoop.resolve_approval` takes the decision.

    `urgent`: the answer with the call has just ended.
    """

    call: ToolCall
    tool: OfferedTool
    urgent: bool


@dataclass(frozen=True, slots=True)
class ApprovalClosed:
    """Stop asking whether a call may run."""


@dataclass(frozen=True, slots=True)
class InputRestored:
    """Put a text that was not answered back into the input."""

    text: str
    attachments: tuple[Attachment, ...]


@dataclass(frozen=True, slots=True)
class NotSaved:
    """Warn that the conversation is not saved from now on, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class NeedsModel:
    """Find a model: a question waits that nothing can answer."""


@dataclass(frozen=True, slots=True)
class Preparing:
    """Show how far folders are read or tools started; None: that has ended, with this result."""

    text: str
    fraction: float | None


SessionEvent = (
    PathShown | Added | Changed | Removed | AnswerEnded | FullyAnswered | ApprovalRequested
    | ApprovalClosed | InputRestored | NotSaved | NeedsModel | Preparing
    | Event
)  # fmt: skip
Emit = Callable[[SessionEvent], None]
"""Receives each event, in order."""
