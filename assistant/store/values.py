"""The values of the store, and the names of its states and notes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from assistant.events import Stats, Trace
from assistant.request import ToolCall

Role = Literal["system", "user", "assistant", "tool"]
State = Literal["streaming", "complete", "stopped", "failed"]

INTERRUPTED = "interrupted"
"""The `stop` of an answer or a call during which the program ended."""
REFUSED, CANCELLED = "refused", "cancelled"
"""The `stop` of a call that the user refused, and of one that the user cancelled."""
MARKS = {
    "stopped": "stopped",
    "cancelled": "stopped",
    "failed": "not finished",
    "length": "cut at the length limit",
    "context": "cut: the context is full",
    INTERRUPTED: "interrupted: the program ended before the answer did",
    "streaming": "another specchat is writing this answer",
}
"""Why an answer that is shown is not whole, by its stop reason or else its state."""
TO_CONVERSATION, TO_MESSAGE = "unfinished, conversation ", "unfinished, message "
"""Prefixes of the keys of unsent texts; the id follows."""
TOOLS_OF = "tools, conversation "
"""Prefix of the keys of the tool setting of a conversation; the id follows."""
END_OF_DATES = 253_402_214_400
"""Seconds since 1970 at which no time zone has the year 10000 yet."""
_MAX_TITLE = 60


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file, a pasted text or a folder that belongs to a question, or a passage of one of these.

    A text that would take long to read is searched for passages, like a folder. A passage has a
    number by which answers cite it; if it has no text here, an earlier question has it. An answer
    has the passages that it cites.
    """

    name: str  # ends in a slash if it is searched for passages
    text: str
    number: int = 0  # of a passage, from 1
    first: int = 0  # line of a passage in its file or its text; of a PDF the page
    last: int = 0
    note: str = ""  # of a passage: that it is older or newer than another version

    @property
    def is_folder(self) -> bool:
        """Whether it is searched for each question, as a folder or a long text."""
        return self.name.endswith("/")

    @property
    def by_passages(self) -> "Attachment":
        """The same text, to be searched for passages."""
        return replace(self, name=f"{self.name}/")

    @property
    def whole(self) -> "Attachment":
        """The same, but a searched text is to be read as a whole."""
        return replace(self, name=self.name[:-1]) if self.is_folder and self.text else self

    @property
    def title(self) -> str:
        """Its name, and where a passage stands: `[2] notes/garden.md:10-25 (newer than a.md)`."""
        if not self.number:
            return self.name if self.whole is self else f"{self.whole.name} (by passages)"
        last = f"-{self.last}" if self.last > self.first else ""
        note = f" ({self.note})" if self.note else ""
        return f"[{self.number}] {self.name}:{self.first}{last}{note}"


def moment(stored: object) -> float:
    """Return a stored date, in seconds since 1970; one that no calendar has becomes 0."""
    return stored if isinstance(stored, float) and 0 <= stored < END_OF_DATES else 0.0


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A stored message."""

    id: int
    parent: int | None  # None: the root of a conversation
    role: Role
    content: str
    created: float  # seconds since 1970
    state: State
    token_ids: tuple[int, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    stop: str | None = None
    stats: Stats | None = None
    model: str = ""
    siblings: tuple[int, ...] = ()  # all with the same parent, oldest first, this one included
    thought: str = ""  # what the model thought before the answer
    tool_calls: tuple[ToolCall, ...] = ()  # of an answer: what it calls; of a result: its call
    seconds: float = 0.0  # how long a call ran


@dataclass(frozen=True, slots=True)
class ChatSummary:
    """A row in the list of conversations."""

    id: int
    title: str
    created: float
    updated: float
    pinned: bool
    messages: int
    snippet: str = ""  # the text around a match of the search
    match: int | None = None  # the matching message; None: only the title matches


@dataclass(frozen=True, slots=True)
class FullConversation:
    """A conversation with all of its branches."""

    title: str
    named: bool  # whether the user gave the title
    system: str
    created: float
    updated: float
    pinned: bool
    leaf: int | None  # the last message of the selected branch
    messages: tuple[StoredMessage, ...]  # each after its parent
    traces: Mapping[int, Trace]  # by the ids of answers


@dataclass(frozen=True, slots=True)
class Imported:
    """A conversation after an import: its id, and whether it was added or already stored."""

    number: int
    is_new: bool


def title_from(text: str) -> str:
    """Return the first line of a text that is not blank, cut at a word to 60 characters."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    # A huge line is not split into words as a whole.
    words = " ".join(line[: 10 * _MAX_TITLE].split())
    if len(words) <= _MAX_TITLE:
        return words
    cut = words[:_MAX_TITLE]
    start, _, _ = cut.rpartition(" ")
    return f"{start if len(start) > _MAX_TITLE // 2 else cut}…"


def unsent(conversation: int | None, message: int | None) -> str:
    """Return the key of the note that holds an unsent text.

    The text is a new question in a conversation, in a new one (None), or an edited `message`.
    The note is removed together with the conversation or the message.
    """
    if message is not None:
        return f"{TO_MESSAGE}{message}"
    return "unfinished" if conversation is None else f"{TO_CONVERSATION}{conversation}"
