"""The messages on the screen: one path through the tree of a conversation."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.store.values import Attachment, Record
from assistant.talk.answer_so_far import AnswerSoFar
from assistant.talk.events import Added, NotSaved, PathShown, Removed, TalkEvent
from assistant.talk.keeping import Keeping
from assistant.tools.values import ToolResult
from models.errors import StorageError

if TYPE_CHECKING:
    from assistant.store import Store


class ShownPath:
    """Keep what is on the screen and what is stored the same.

    Messages form a tree: an edited question or another answer is a sibling of the first.
    What goes to another branch raises a StorageError when the store fails, and changes nothing.

    Args:
        tell: is given what to show.
        store: keeps the messages; None keeps nothing.
        system: returns the system prompt of a new conversation.
        writes: whether the store is written.
    """

    def __init__(
        self,
        tell: Callable[[TalkEvent], None],
        store: "Store | None",
        system: Callable[[], str],
        writes: bool = True,
    ) -> None:
        self._tell, self._new_system = tell, system
        self.keeping = Keeping(store, lambda error: tell(NotSaved(str(error))), writes)
        self.records: tuple[Record, ...] = ()
        """The messages, from the root to the leaf."""
        self._system: str | None = None  # None: nothing was said yet
        self.conversation: int | None = None
        """Its number in the store; None until something is said, or if it is not kept."""

    @property
    def leaf(self) -> Record | None:
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

    def shows(self, record: Record) -> bool:
        """Say whether a message is on the screen."""
        return any(shown.id == record.id for shown in self.records)

    def keep_in(self, store: "Store") -> dict[int, Record]:
        """Keep this conversation in a store from now on; return its records by old numbers."""
        number, moved = self.keeping.move_to(store, self.records, self.system)
        if moved:
            self._show(tuple(moved.values()), number)
        return moved

    def is_current(self, record: Record) -> bool:
        """Say whether a message is stored as it is shown: another program may have continued it."""
        if self.conversation is None or self.keeping.store is None:
            return True
        stored = {each.id: each for each in self._store.tree(self.conversation)}.get(record.id)
        if stored is None:
            return False
        return stored.state != "streaming" and stored.content == record.content

    # What is added, and what becomes of it

    def add_question(self, text: str, attachments: Sequence[Attachment]) -> Record:
        """Add and show a question, which begins a conversation if it is the first."""
        if self._system is None:
            self._system = self._new_system()
        if self.conversation is None:
            self.conversation = self.keeping.begin(self._system)
        asked = Record(0, self.end, "user", text, time.time(), "complete")
        record = self.append(replace(asked, attachments=tuple(attachments)))
        self._tell(Added(record))
        return record

    def append(self, record: Record) -> Record:
        """Keep a message and add it at the end; return it with its number."""
        kept = self.keep(record)
        self.records = (*self.records, kept)
        return kept

    def keep(self, record: Record) -> Record:
        """Keep a message of this conversation that is not on the screen, with its number."""
        return self.keeping.add(self.conversation, record)

    def end_answer(self, answer: AnswerSoFar, ended: Record) -> Record:
        """Keep and show how an answer ended."""
        return self._replaced(self.keeping.end_answer(answer, ended))

    def end_call(self, call: Record, end: ToolResult, seconds: float) -> Record:
        """Keep and show how a call ended."""
        ended = replace(call, content=end.text, state=end.state, stop=end.stop, seconds=seconds)
        return self._replaced(self.keeping.end(ended))

    def _replaced(self, record: Record) -> Record:
        self.records = tuple(record if each.id == record.id else each for each in self.records)
        return record

    def remove(self, record: Record) -> None:
        """Hide a message that was never answered, or has nothing in it."""
        self.keeping.drop(record)
        self.records = tuple(shown for shown in self.records if shown.id != record.id)
        self._tell(Removed(record))

    # Where the user goes

    def open(self, conversation: int | None) -> None:
        """Show a conversation; None is a new one."""
        path: Sequence[Record] = ()
        system: str | None = None
        if conversation is not None:
            path, system = self._store.path(conversation), self._store.system(conversation)
        self._system = system
        self.keeping.try_again()
        self._show(path, conversation)

    def reopen(self) -> None:
        """Show the conversation as it is stored now."""
        self.open(self.conversation)

    def cut_before(self, message: Record) -> None:
        """Show the path up to a message, without it."""
        ids = [shown.id for shown in self.records]
        self._show(self.records[: ids.index(message.id)], self.conversation)

    def choose(self, message: int) -> None:
        """Show the newest branch through a message."""
        self._store.choose(message)
        self.reopen()

    def choose_answer(self, message: Record) -> None:
        """Show one of several answers to the last question, unless it was empty."""
        if not self.keeping.writes:
            self._show([*self.records, message][: None if message.content else -1], None)
        elif message.id in {each.id for each in self._store.tree(self.conversation or 0)}:
            self.choose(message.id)
        else:
            self.reopen()

    def delete(self, message: Record) -> None:
        """Hide a message and all that follows it."""
        self._store.drop(message.id)
        self.reopen()

    def restore(self, conversation: int, message: int) -> None:
        """Show again what deleting a message hid."""
        self._store.restore(message)
        self._store.choose(message)
        self.open(conversation)

    def fork(self, message: Record) -> None:
        """Show a new conversation with a copy of the path to a message."""
        self.open(self._store.fork(message.id))

    @property
    def _store(self) -> "Store":
        if self.keeping.store is None:
            raise StorageError("This conversation is not kept, so it has no other branches.")
        return self.keeping.store

    def _show(self, path: Sequence[Record], conversation: int | None) -> None:
        self.records, self.conversation = tuple(path), conversation
        self._tell(PathShown(self.records))
