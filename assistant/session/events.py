"""The events of a conversation for its client, which shows them; those of the engine are added."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from assistant.events import Event
from assistant.request import ToolCall
from assistant.store.values import Attachment, StoredMessage
from assistant.tools.values import OfferedTool


class PathShown(Struct, frozen=True):
    """Show these messages instead of those on the screen."""

    path: Sequence[StoredMessage]


class Added(Struct, frozen=True):
    """Show a message at the end: a question, an answer that begins, or a call that runs."""

    record: StoredMessage


class Changed(Struct, frozen=True):
    """Show a message as it is now: it has ended, or it is an answer that continues."""

    record: StoredMessage


class Removed(Struct, frozen=True):
    """Take a message off the screen: it was never answered, or has nothing in it."""

    record: StoredMessage


class AnswerEnded(Struct, frozen=True):
    """Stop showing that the engine works: the answer has ended."""


class FullyAnswered(Struct, frozen=True):
    """Send the next prompt, if one waits: the last answer has ended by itself."""


class ApprovalRequested(Struct, frozen=True):
    """Ask the user whether a call may run; `ToolLoop.resolve_approval` takes the decision."""

    call: ToolCall
    tool: OfferedTool
    urgent: bool  # whether the answer with the call has just ended


class ApprovalClosed(Struct, frozen=True):
    """Stop asking whether a call may run."""


class InputRestored(Struct, frozen=True):
    """Put a text that was not answered back into the input."""

    text: str
    attachments: tuple[Attachment, ...]


class NotSaved(Struct, frozen=True):
    """Warn that the conversation is not saved from now on, and why."""

    reason: str


class NeedsModel(Struct, frozen=True):
    """Find a model: a question waits that nothing can answer."""


class Preparing(Struct, frozen=True):
    """Show how far folders are read or tools started; None: that has ended, with this result."""

    text: str
    fraction: float | None


SessionEvent = (
    PathShown | Added | Changed | Removed | AnswerEnded | FullyAnswered | ApprovalRequested
    | ApprovalClosed | InputRestored | NotSaved | NeedsModel | Preparing
    | Event
)  # fmt: skip
Emit = Callable[[SessionEvent], None]  # receives each event, in order
