"""The messages on the screen: one branch of a conversation, which the store has as well."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from time import time
from typing import TYPE_CHECKING, TypeVar

from assistant.events import Step, Trace
from assistant.request import ToolCall
from assistant.session.events import Added, Emit, NotSaved, PathShown, Removed
from assistant.settings.settings import Settings
from assistant.store.values import Attachment, Role, StoredMessage
from models.errors import StorageError

if TYPE_CHECKING:
    from assistant.store.store import Store

Result = TypeVar("Result")


class ActiveBranch:
    """Keep the screen and the store consistent.

    Messages form a tree: an edited question or another answer is a sibling of the first.
    A method that shows another branch raises a StorageError when the store fails, and changes
    nothing.

    If a message cannot be written, `NotSaved` is emitted once, and later messages are in memory
    alone, with negative numbers: the conversation continues, and is not saved.

    Arguments are as for `ChatSession`.
    """

    def __init__(
        self, emit: Emit, store: "Store | None", settings: Callable[[], Settings], writes: bool
    ) -> None:
        self._emit, self._settings = emit, settings
        self.store, self._may_write, self._failed = store, writes, False
        self.records: tuple[StoredMessage, ...] = ()
        """The messages, from the root to the leaf."""
        self._system: str | None = None  # None: there is no message yet
        self.conversation: int | None = None
        """Its number in the store; None before the first message, or if it is not saved."""
        self._cut: int | None = None  # the end of the branch that `cut_before` left
        self._numbers = count(-1, -1)
        self._traces: dict[int, Trace] = {}  # of answers that are in memory alone

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
        return (self._settings().system or "") if self._system is None else self._system

    @property
    def writes(self) -> bool:
        """Whether messages are written to the store."""
        return self.store is not None and self._may_write and not self._failed

    @property
    def saves(self) -> bool:
        """Whether messages outlive the program."""
        return self.writes and self.store is not None and self.store.saves

    def shows(self, record: StoredMessage) -> bool:
        """Return whether a message is on the screen."""
        return any(shown.id == record.id for shown in self.records)

    def stored(self, record: StoredMessage) -> StoredMessage | None:
        """Return a message as it is stored; another program may have changed or hidden it."""
        if self.conversation is None or self.store is None or not self.writes:
            return record
        tree = self.store.tree(self.conversation)
        return next((message for message in tree if message.id == record.id), None)

    def trace(self, answer: int) -> Trace:
        """Return how an answer was decoded; empty for one that was not decoded here."""
        if self.store is None or answer < 0 or (self._failed and answer in self._traces):
            return self._traces.get(answer, ())
        return self.store.trace(answer)

    def rounds_of(self, answer: StoredMessage) -> list[Step]:
        """Return the rounds that a stored text was decoded in: its trace may have later ones."""
        steps, length = list[Step](), len(answer.content) + len(answer.thought)
        with suppress(StorageError):  # of a damaged file; the text is shown without colours
            for step in self.trace(answer.id):
                if length <= 0:
                    break
                steps.append(step)
                length -= len(step.text) + len(step.thought)
        return steps

    # Messages that are added or change

    def add_question(self, text: str, attachments: Sequence[Attachment]) -> StoredMessage:
        """Add and show a question, which creates a conversation if it is the first."""
        self._system = system = self.system
        if self.conversation is None:
            self.conversation = self._try_to_save(lambda store: store.create(system=system), None)
        record = self._append(self.question(text, attachments))
        self._emit(Added(record))
        return record

    def question(self, text: str, attachments: Sequence[Attachment]) -> StoredMessage:
        """Return a question at the end, as it would be if it were asked now."""
        question = StoredMessage(0, self.end, "user", text, time(), "complete")
        return replace(question, attachments=tuple(attachments))

    def append_empty(
        self, role: Role, model: str = "", tool_calls: tuple[ToolCall, ...] = ()
    ) -> StoredMessage:
        """Add a message that streams, and has no text yet, at the end; return it."""
        empty = StoredMessage(0, self.end, role, "", time(), "streaming", model=model)
        return self._append(replace(empty, tool_calls=tool_calls))

    def _append(self, record: StoredMessage) -> StoredMessage:
        number, conversation = next(self._numbers), self.conversation or 0
        unsaved = replace(record, id=number, siblings=(number,))
        numbered = self._try_to_save(lambda store: store.append(conversation, record), unsaved)
        self.records = (*self.records, numbered)
        return numbered

    def stream(self, record: StoredMessage, trace: Trace) -> None:
        """Store an answer that is under way, on any thread; StorageError if that fails."""
        if self.writes and self.store is not None:
            self.store.update(record, trace)

    def update(self, changed: StoredMessage, trace: Trace = ()) -> StoredMessage:
        """Save a message as it is now, at its end or when it continues; return it as stored."""
        self._traces[changed.id] = trace
        record = self._try_to_save(lambda store: store.update(changed, trace), changed)
        self.records = tuple(record if shown.id == record.id else shown for shown in self.records)
        return record

    def remove(self, record: StoredMessage) -> None:
        """Hide a message that was not answered, or is empty; delete a conversation without any."""
        self._try_to_save(lambda store: store.drop(record.id), None)
        if self.shows(record):
            self.records = tuple(shown for shown in self.records if shown.id != record.id)
            self._emit(Removed(record))
            if not self.records:
                self._try_to_save(self._delete_if_empty, None)

    def _delete_if_empty(self, store: "Store") -> None:
        number = self.conversation
        if number is not None and not store.tree(number):
            store.delete(number)
            self.conversation = None

    def _try_to_save(self, save: "Callable[[Store], Result]", otherwise: Result) -> Result:
        if self.writes and self.store is not None:
            try:
                return save(self.store)
            except StorageError as error:
                self._failed = True
                self._emit(NotSaved(str(error)))
        return otherwise

    # Other branches and conversations

    def open(self, conversation: int | None) -> None:
        """Show a conversation; None is a new one. It is saved, even if the one before was not."""
        path: Sequence[StoredMessage] = ()
        system: str | None = None
        if conversation is not None:
            store = self._required_store
            path, system = store.path(conversation), store.system(conversation)
        self._system, self._failed = system, False
        self._show(path, conversation)

    def reopen(self) -> None:
        """Show the conversation as it is stored now."""
        self.open(self.conversation)

    def cut_before(self, message: StoredMessage) -> None:
        """Show the path up to a message, without it."""
        ids, end = [shown.id for shown in self.records], self.end
        self._show(self.records[: ids.index(message.id)], self.conversation)
        self._cut = end

    def undo_cut(self) -> None:
        """Show the branch that was cut, or the conversation as it is stored if there is none."""
        if self._cut is not None:
            with suppress(StorageError):  # another program has deleted it
                self._required_store.choose(self._cut)
        self.reopen()

    def choose(self, message: int) -> None:
        """Show the newest branch through a message."""
        self._required_store.choose(message)
        self.reopen()

    def delete(self, message: StoredMessage) -> None:
        """Hide a message and all that follows it."""
        self._required_store.drop(message.id)
        self.reopen()

    def restore(self, conversation: int, message: int) -> None:
        """Show again what deleting a message hid."""
        self._required_store.restore(message)
        self.open(conversation)

    def fork(self, message: StoredMessage) -> None:
        """Show a new conversation with a copy of the path to a message."""
        self.open(self._required_store.fork(message.id))

    def copy(self, message: StoredMessage) -> None:
        """Show a copy of a message, as a new branch, instead of it."""
        store, stopped = self._required_store, replace(message, created=time(), state="stopped")
        copied = store.append(self.conversation or 0, stopped)
        store.update(copied, tuple(self.rounds_of(message)))
        self.reopen()

    @property
    def _required_store(self) -> "Store":
        if self.store is None:
            raise StorageError("This conversation is not saved, so it has no other branches.")
        return self.store

    def _show(self, path: Sequence[StoredMessage], conversation: int | None) -> None:
        self.records, self.conversation, self._cut = tuple(path), conversation, None
        self._emit(PathShown(self.records))
