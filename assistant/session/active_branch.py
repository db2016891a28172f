"""The messages on the screen: one path through the tree of a conversation, kept in the store."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from assistant.events import Trace
from assistant.request import ToolCall
from assistant.session.events import Added, Emit, NotSaved, PathShown, Removed
from assistant.store.values import Attachment, Role, StoredMessage
from models.errors import StorageError

if TYPE_CHECKING:
    from assistant.store.store import Store

Kept = TypeVar("Kept")


class ActiveBranch:
    """Keep what is on the screen and what is stored the same.

    Messages form a tree: an edited question or another answer is a sibling of the first.
    What goes to another branch raises a StorageError when the store fails, and changes nothing.

    When what is said cannot be written, that is told once, and messages are values from then on:
    the conversation goes on, and is not saved. Such messages have negative numbers.

    Arguments are as for `ChatSession`; `system` returns the system prompt of a new conversation.
    """

    def __init__(
        self,
        emit: Emit,
        store: "Store | None",
        system: Callable[[], str],
        writes: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._emit, self._new_system, self._clock = emit, system, clock
        self.store, self._may_write = store, writes
        self.records: tuple[StoredMessage, ...] = ()
        """The messages, from the root to the leaf."""
        self._system: str | None = None  # None: nothing was said yet
        self.conversation: int | None = None
        """Its number in the store; None until something is said, or if it is not kept."""
        self.writes = store is not None and writes
        """Whether what is said is written to the store."""
        self._numbers = count(-1, -1)
        self._traces: dict[int, Trace] = {}  # of answers that are values

    @property
    def leaf(self) -> StoredMessage | None:
        """The last message."""
        return self.records[-1] if self.records else None

    @property
    def end(self) -> int | None:
        """The number of the last message."""
        return self.leaf.id if self.leaf else None

    @property
    def system(self) -> str:
        """The system prompt, which stays what it was when the conversation began."""
        return self._new_system() if self._system is None else self._system

    @property
    def saves(self) -> bool:
        """Whether what is said outlives the program."""
        return self.writes and self.store is not None and self.store.saves

    def shows(self, record: StoredMessage) -> bool:
        """Say whether a message is on the screen."""
        return any(shown.id == record.id for shown in self.records)

    def is_current(self, record: StoredMessage) -> bool:
        """Say whether a message is stored as it is shown: another program may have continued it."""
        if self.conversation is None or self.store is None:
            return True
        stored = self.store.tree(self.conversation)
        ended = {(each.id, each.content) for each in stored if each.state != "streaming"}
        return (record.id, record.content) in ended

    def trace(self, answer: int) -> Trace:
        """Return how an answer was decoded; empty for one that was not decoded here."""
        if self.store is None or answer < 0:
            return self._traces.get(answer, ())
        return self.store.trace(answer)

    # What is added, and what becomes of it

    def add_question(self, text: str, attachments: Sequence[Attachment]) -> StoredMessage:
        """Add and show a question, which begins a conversation if it is the first."""
        if self._system is None:
            self._system = self._new_system()
        if self.conversation is None:
            self.conversation = self._begun()
        record = self._append(self.question(text, attachments))
        self._emit(Added(record))
        return record

    def question(self, text: str, attachments: Sequence[Attachment]) -> StoredMessage:
        """Return a question at the end, as it would be if it were asked now."""
        asked = StoredMessage(0, self.end, "user", text, self._clock(), "complete")
        return replace(asked, attachments=tuple(attachments))

    def append_empty(
        self, role: Role, model: str = "", tool_calls: tuple[ToolCall, ...] = ()
    ) -> StoredMessage:
        """Add a message that streams, and has no text yet, at the end; return it."""
        empty = StoredMessage(0, self.end, role, "", time.time(), "streaming", model=model)
        return self._append(replace(empty, tool_calls=tool_calls))

    def _append(self, record: StoredMessage) -> StoredMessage:
        numbered = self._numbered(record)
        self.records = (*self.records, numbered)
        return numbered

    def _numbered(self, record: StoredMessage) -> StoredMessage:
        number, conversation = next(self._numbers), self.conversation or 0
        return self._kept(
            lambda store: store.append(conversation, record),
            lambda: replace(record, id=number, siblings=(number,)),
        )

    def claim(self, answer: StoredMessage, trace: Trace) -> None:
        """Note that an answer is continued here: from now on no other program continues it."""
        streaming = replace(answer, state="streaming")
        self._kept(lambda _: self.stream(streaming, trace), lambda: None)

    def stream(self, record: StoredMessage, trace: Trace) -> None:
        """Store an answer that is under way; may be called on any thread.

        Raises:
            StorageError: it cannot be written.
        """
        if self.writes and self.store is not None:
            self.store.stream(record.id, record.content, trace, record.thought)

    def end_message(self, ended: StoredMessage, trace: Trace = ()) -> StoredMessage:
        """Keep how an answer or a call ended."""
        self._traces[ended.id] = trace
        record = self._kept(lambda store: store.end(ended, trace), lambda: ended)
        self.records = tuple(record if each.id == record.id else each for each in self.records)
        return record

    def remove(self, record: StoredMessage) -> None:
        """Hide a message that was never answered, or has nothing in it."""
        self._kept(lambda store: store.drop(record.id), lambda: None)
        if self.shows(record):
            self.records = tuple(shown for shown in self.records if shown.id != record.id)
            self._emit(Removed(record))

    def keep_in(self, store: "Store") -> dict[int, StoredMessage]:
        """Keep this conversation in a store from now on; return its records by old numbers.

        They are not shown yet.
        """
        self.store, self.writes = store, True
        moved: dict[int, StoredMessage] = {}
        if not self.records:
            return moved
        self.conversation = self._begun()
        for record in self.records:
            parent = moved[record.parent].id if record.parent in moved else None
            new = self._numbered(replace(record, parent=parent))
            if trace := self._traces.get(record.id):
                new = self.end_message(new, trace)
            moved[record.id] = new
        self.records = tuple(moved.values())
        return moved

    def _begun(self) -> int | None:
        return self._kept(lambda store: store.create(system=self.system), lambda: None)

    def _kept(self, keep: "Callable[[Store], Kept]", value: Callable[[], Kept]) -> Kept:
        if self.writes and self.store is not None:
            try:
                return keep(self.store)
            except StorageError as error:
                self.writes = False
                self._emit(NotSaved(str(error)))
        return value()

    # Where the user goes

    def open(self, conversation: int | None) -> None:
        """Show a conversation; None is a new one. It is written again, if an earlier was not."""
        path: Sequence[StoredMessage] = ()
        system: str | None = None
        if conversation is not None:
            path, system = self._there.path(conversation), self._there.system(conversation)
        self._system = system
        self.writes = self.store is not None and self._may_write
        self._show(path, conversation)

    def reopen(self) -> None:
        """Show the conversation as it is stored now."""
        self.open(self.conversation)

    def cut_before(self, message: StoredMessage) -> None:
        """Show the path up to a message, without it."""
        ids = [shown.id for shown in self.records]
        self._show(self.records[: ids.index(message.id)], self.conversation)

    def choose(self, message: int) -> None:
        """Show the newest branch through a message."""
        self._there.choose(message)
        self.reopen()

    def delete(self, message: StoredMessage) -> None:
        """Hide a message and all that follows it."""
        self._there.drop(message.id)
        self.reopen()

    def restore(self, conversation: int, message: int) -> None:
        """Show again what deleting a message hid."""
        self._there.restore(message)
        self._there.choose(message)
        self.open(conversation)

    def fork(self, message: StoredMessage) -> None:
        """Show a new conversation with a copy of the path to a message."""
        self.open(self._there.fork(message.id))

    @property
    def _there(self) -> "Store":
        if self.store is None:
            raise StorageError("This conversation is not kept, so it has no other branches.")
        return self.store

    def _show(self, path: Sequence[StoredMessage], conversation: int | None) -> None:
        self.records, self.conversation = tuple(path), conversation
        self._emit(PathShown(self.records))
