"""What the store gives out. Plain frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assistant.attachment import Attachment as Attachment
from assistant.events import Stats
from assistant.tokens import Trace

Role = Literal["system", "user", "assistant"]
State = Literal["streaming", "complete", "stopped", "failed"]

INTERRUPTED = "interrupted"
"""The `stop` of an answer whose program ended before it did."""


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
    named: bool  # by a person, not by its first message
    system: str
    created: float
    updated: float
    pinned: bool
    leaf: int | None  # the message at which the conversation is
    messages: tuple[Record, ...]  # each after its parent
    traces: Mapping[int, Trace]  # how the answers among them came about
