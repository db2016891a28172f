"""The part of a conversation that is on the screen, in step with the one in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from assistant.request import AnswerForm, Tool
from assistant.tokens import Trace
from models.errors import StorageError
from tui.chat.answer_writer import AnswerWriter
from tui.chat.conversation.answer import Answer
from tui.chat.conversation.conversation import Conversation
from tui.settings.settings import Settings

if TYPE_CHECKING:  # it imports SQLite, which the first frame does not wait for
    from assistant.store import Record, Store

Value = TypeVar("Value")
SHARED = (
    "This conversation is open in another specchat, too. What is said in both is kept, as branches."
)


class ConversationState:
    """Show one path from the root of a conversation's tree.

    Messages form a tree: an edited question or another answer is a sibling of the first. When the
    store cannot be written, the conversation continues in memory and `lost` is told.
    """

    def __init__(
        self,
        view: Conversation,
        settings: Settings,
        lost: Callable[[StorageError], None],
    ) -> None:
        self.settings = settings
        self.view, self.lost = view, lost
        self._store: Store | None = None
        self.conversation: int | None = None
        """None until something was said."""
        self.records: tuple[Record, ...] = ()
        """The path that is shown."""
        self.form: AnswerForm | None = None
        """What answers have to look like."""
        self.tools: tuple[Tool, ...] = ()
        """What answers may ask to be called."""
        self.shown: Callable[[], None] = lambda: None
        """Called when another path is on the screen."""
        self.reply: AnswerWriter | None = None
        """What the engine works on, also when another conversation has been opened since."""

    @property
    def store(self) -> Store:
        """Where the conversation is kept: in memory until `move_to` names another place."""
        if self._store is None:
            from assistant.store import Store

            self._store = Store(None)
        return self._store

    @property
    def system(self) -> str:
        """Return the system prompt of the conversation, which stays what it was at first."""
        if self.conversation is None:
            return self.settings.system or ""
        return self.store.system(self.conversation)

    @property
    def leaf(self) -> Record | None:
        """The last message of the path."""
        return self.records[-1] if self.records else None

    @property
    def busy(self) -> bool:
        """Whether the engine works on an answer."""
        return self.reply is not None

    def shows(self, record: Record) -> bool:
        """Whether a message is on the path that is shown."""
        return any(shown.id == record.id for shown in self.records)

    def open(self, conversation: int | None) -> None:
        """Show a conversation; None is a new one, which is kept once something is said."""
        self.records = () if conversation is None else self.store.path(conversation)
        self.conversation = conversation
        shared = self.enter()
        self.show()
        if shared:
            self.note(SHARED)

    def go_to(self, message: int) -> bool:
        """Go to a message of the conversation, on any branch; return whether it exists."""
        try:
            if message not in {record.id for record in self.records}:
                self.store.choose(message)
                self.open(self.conversation)
        except StorageError:  # it has been deleted meanwhile
            return False
        self.view.walk_to(message)
        return True

    @property
    def shared(self) -> bool:
        """Whether another instance has the conversation open, too."""
        return self.conversation is not None and self.store.is_open_elsewhere(self.conversation)

    def enter(self) -> bool:
        """Let other instances know what is open here; return whether one has it open, too."""
        try:
            return self.store.enter(self.conversation)
        except StorageError:  # reading works without it
            return False

    def cut_before(self, record: Record) -> None:
        """Show the path up to a message, without it."""
        ids = [shown.id for shown in self.records]
        self.records = self.records[: ids.index(record.id)]
        self.show()

    def show(self) -> None:
        """Put the path on the screen again."""
        reply = self.reply if self.reply and self.shows(self.reply.record) else None
        # What streams is shown as it streamed: the store has an older state of it.
        blank = [
            replace(r, content="", thought="") if reply and r.id == reply.record.id else r
            for r in self.records
        ]
        self.view.open(blank, self.store.answers.trace)
        if reply is not None:
            reply.move_to(self.answer_of(reply.record))
        self.shown()

    def note(self, text: str) -> None:
        """Show a warning before the answer under way."""
        shown = self.reply is not None and self.shows(self.reply.record)
        self.view.note(text, "warning", self.reply.view if shown and self.reply else None)

    def so_far(self, record: Record) -> Trace | None:
        """Return how an answer was decoded that is under way; None for any other."""
        reply = self.reply
        return reply.trace if reply is not None and reply.record.id == record.id else None

    def keep(self) -> None:
        """Save what there is of the answer under way; may be called on any thread.

        Raises:
            StorageError: it cannot be written.
        """
        reply = self.reply  # it may be gone a moment later
        if reply is not None:
            reply.keep(self.store)

    def answer_of(self, record: Record) -> Answer:
        """Return the answer on the screen that a record is shown as."""
        turns = reversed(self.view.turns)  # those of the last time may not be gone yet
        return next(
            t for t in turns if isinstance(t, Answer) and t.record and t.record.id == record.id
        )

    def stored(self, do: Callable[[], Value]) -> Value:
        """Do something with the store, in memory when its file cannot be written."""
        try:
            return do()
        except StorageError as error:
            self.lost(error)
            self._go_on_in_memory()
            return do()

    def drop(self, record: Record) -> None:
        """Hide a message that failed; where that cannot be written, it stays."""
        try:
            self.store.drop(record.id)
        except StorageError as error:
            self.lost(error)

    def move_to(self, store: Store) -> None:
        """Continue in another store, with a copy of the path that is shown."""
        system, self._store = self.system, store
        moved: dict[int, Record] = {}
        if self.conversation is not None:
            self.conversation, moved = copied(self.records, system, store)
            self.enter()
            self.records = tuple(moved.values())
        reply = self.reply
        if reply is not None and reply.record.id in moved:
            reply.record = moved[reply.record.id]
        else:  # an answer to a conversation that is not shown has no place there
            self.reply = None
        if moved:
            self.show()

    def _go_on_in_memory(self) -> None:
        from assistant.store import Store

        self.move_to(Store(None))


def copied(path: Sequence[Record], system: str, store: Store) -> tuple[int, dict[int, Record]]:
    """Copy a path into `store`; return its conversation, and the new records by the old ids."""
    conversation = store.begin(system=system)
    records: dict[int, Record] = {}
    parent: int | None = None
    for record in path:
        records[record.id] = _copied(record, parent, conversation, store)
        parent = records[record.id].id
    return conversation, records


def _copied(record: Record, parent: int | None, conversation: int, store: Store) -> Record:
    if record.role == "user" or parent is None:
        return store.ask(conversation, parent, record.content, record.attachments)
    if record.role == "tool":
        new = store.answers.call(conversation, parent, *record.calls[:1])
        end = record.content, record.state, record.stop, record.seconds
        return new if record.state == "streaming" else store.answers.returned(new.id, *end)
    new = store.answers.begin(conversation, parent, record.model)
    if record.state == "streaming":
        return new
    ids, stats, stop = record.token_ids, record.stats, record.stop
    ended = ids, (), stats, stop, record.state, record.thought, record.calls
    return store.answers.end(new.id, record.content, *ended)
