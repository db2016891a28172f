"""What the store gives out: plain frozen values, and names for what has none of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assistant.events import Stats
from assistant.request import ToolCall
from assistant.tokens import Trace

Role = Literal["system", "user", "assistant", "tool"]
State = Literal["streaming", "complete", "stopped", "failed"]

INTERRUPTED = "interrupted"
"""The `stop` of an answer or a call whose program ended before it did."""
REFUSED, CANCELLED = "refused", "cancelled"
"""The `stop` of a call that the user did not allow, or ended."""
TO_CONVERSATION, TO_MESSAGE = "unfinished, conversation ", "unfinished, message "
"""How the names of unsent texts begin, before the number of what they belong to."""
_MAX_TITLE = 60


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that was read or a long text that was pasted, along with what a user says."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Record:
    """A message as it is kept."""

    id: int
    parent: int | None  # the message that it follows; None at the start of a conversation
    role: Role
    content: str
    created: float  # seconds since 1970
    state: State
    token_ids: tuple[int, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    stop: str | None = None
    stats: Stats | None = None
    model: str = ""
    siblings: tuple[int, ...] = ()  # those that follow the same message, oldest first, with this
    thought: str = ""  # before an answer, apart from it
    calls: tuple[ToolCall, ...] = ()  # that an answer asks for; of a result, the one it is of
    seconds: float = 0.0  # that a call took


@dataclass(frozen=True, slots=True)
class ChatSummary:
    """A conversation as a list shows it."""

    id: int
    title: str
    created: float
    updated: float
    pinned: bool
    messages: int
    snippet: str = ""  # where the search matched
    found: int | None = None  # the message that it matched; None: the title alone


@dataclass(frozen=True, slots=True)
class FullConversation:
    """A conversation with all of its branches."""

    title: str
    named: bool  # by a user, not by its first message
    system: str
    created: float
    updated: float
    pinned: bool
    leaf: int | None  # the message at which the conversation is
    messages: tuple[Record, ...]  # each after its parent
    traces: Mapping[int, Trace]  # how the answers among them were decoded


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A stored answer and its figures."""

    created: float  # seconds since 1970
    model: str  # the target
    content: str
    stats: Stats


@dataclass(frozen=True, slots=True)
class Taken:
    """Where a conversation is that was to be added."""

    number: int
    is_new: bool  # False: it was there already


def derive(text: str) -> str:
    """Return a title: the first line of a message that says something, shortened at a word."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    # Of a huge line, a little is looked at.
    words = " ".join(line[: 10 * _MAX_TITLE].split())
    if len(words) <= _MAX_TITLE:
        return words
    cut = words[:_MAX_TITLE]
    start, _, _ = cut.rpartition(" ")
    return f"{start if len(start) > _MAX_TITLE // 2 else cut}…"


def unsent(conversation: int | None, message: int | None) -> str:
    """Return the name of the note for what was not sent to a conversation, or in a message's place.

    It goes for good when the conversation or the message does.
    """
    if message is not None:
        return f"{TO_MESSAGE}{message}"
    return "unfinished" if conversation is None else f"{TO_CONVERSATION}{conversation}"
