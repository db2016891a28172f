"""What a conversation has its client do: show something, or have somebody else do something."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assistant.events import Answered, Decoded, Finished
from assistant.request import Request, ToolCall
from assistant.store.values import Attachment, Record
from assistant.tokens import Step
from assistant.tools.values import OfferedTool

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class PathOpened:
    """Show these messages instead of those on the screen."""

    path: Sequence[Record]


@dataclass(frozen=True, slots=True)
class QuestionAdded:
    """Show a question at the end; it may have to wait until a model is loaded."""

    record: Record


@dataclass(frozen=True, slots=True)
class AnswerBegun:
    """Show an empty answer at the end; `number` counts several answers to one question."""

    record: Record
    number: int = 0


@dataclass(frozen=True, slots=True)
class AnswerResumed:
    """Show that an answer goes on which was cut."""

    record: Record


@dataclass(frozen=True, slots=True)
class AnswerGrew:
    """Show what one round adds to an answer."""

    record: Record
    step: Step
    event: Decoded
    number: int = 0


@dataclass(frozen=True, slots=True)
class AnswerEnded:
    """Show an answer as it is kept; without an event it failed or was abandoned."""

    record: Record
    event: Finished | None = None
    number: int = 0


@dataclass(frozen=True, slots=True)
class AnswersEnded:
    """Stop showing that the engine works: every answer has ended; several, with their figures."""

    event: Answered | None = None


@dataclass(frozen=True, slots=True)
class MessageRemoved:
    """Take a message off the screen: it was never answered, or has nothing in it."""

    record: Record


@dataclass(frozen=True, slots=True)
class GivenBack:
    """Put a text that was not answered back where the user types."""

    text: str
    attachments: tuple[Attachment, ...]


@dataclass(frozen=True, slots=True)
class CallWaits:
    """Ask the user whether a call may run. `urgent`: it follows from what has just ended."""

    call: ToolCall
    tool: OfferedTool
    urgent: bool


@dataclass(frozen=True, slots=True)
class CallSettled:
    """Ask about no call any more."""


@dataclass(frozen=True, slots=True)
class CallBegun:
    """Show that a call runs."""

    record: Record


@dataclass(frozen=True, slots=True)
class CallEnded:
    """Show how a call ended."""

    record: Record


@dataclass(frozen=True, slots=True)
class Noted:
    """Say something in the conversation; `before` is the answer that it is about."""

    text: str
    severity: Severity = "warning"
    before: Record | None = None


@dataclass(frozen=True, slots=True)
class NotSaved:
    """Say that the conversation is not saved from now on, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class FindModel:
    """Find a model: a question waits that nothing can answer."""


@dataclass(frozen=True, slots=True)
class LearnTools:
    """Learn which tools there are, then call `Talk.tools_learned`."""


@dataclass(frozen=True, slots=True)
class AskEngine:
    """Have the engine do this; give its events to `Talk.hear`, and then call `Talk.job_over`."""

    request: Request


@dataclass(frozen=True, slots=True)
class StopEngine:
    """Cancel what the engine does; its last events still come."""


@dataclass(frozen=True, slots=True)
class RunCall:
    """Run a call of a tool, then call `Talk.returned`."""

    call: ToolCall
    tool: OfferedTool


@dataclass(frozen=True, slots=True)
class StopCall:
    """Cancel the call that runs; `Talk.returned` is called with `STOPPED`."""


Effect = (
    PathOpened | QuestionAdded | AnswerBegun | AnswerResumed | AnswerGrew | AnswerEnded
    | AnswersEnded | MessageRemoved | GivenBack | CallWaits | CallSettled | CallBegun | CallEnded
    | Noted | NotSaved | FindModel | LearnTools | AskEngine | StopEngine | RunCall | StopCall
)  # fmt: skip
