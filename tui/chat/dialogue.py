"""What was said so far and what is being answered: the chat without its keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from assistant.attachment import Attachment
from assistant.events import Decoded, Failed, Finished, ModelInfo, Prepared, Stop
from assistant.request import Message, Mode, Request
from models.errors import StorageError
from tui.attaching.attachments import joined
from tui.chat.inquiry import inquiry
from tui.chat.reply import Reply, footnote
from tui.settings import Settings
from tui.widgets.conversation.answer import Answer
from tui.widgets.conversation.conversation import Conversation
from tui.widgets.conversation.turns import UserTurn

if TYPE_CHECKING:  # it brings SQLite along, which the first frame does not wait for
    from assistant.store import Record, Store

Value = TypeVar("Value")


class Dialogue:
    """Keep the conversation on the screen in step with the one in the store.

    Messages form a tree: an edited question or another answer is a sibling of the first, and one
    path from the root is shown. What is sent is in the store before the engine hears of it; when
    the store cannot be written, the conversation goes on in memory and `lost` is told.
    """

    def __init__(
        self,
        view: Conversation,
        settings: Settings,
        lost: Callable[[StorageError], None],
    ) -> None:
        self.settings = settings
        self._view, self._lost = view, lost
        self._store: Store | None = None
        self.conversation: int | None = None
        """None until something has been said."""
        self.records: tuple[Record, ...] = ()
        """The path that is shown."""
        self.reply: Reply | None = None
        """What the engine works on, also when another conversation has been opened since."""

    @property
    def store(self) -> Store:
        """Where the conversation is kept: in memory until `move_to` names another place."""
        if self._store is None:
            from assistant.store import Store

            self._store = Store(None)
        return self._store

    @property
    def busy(self) -> bool:
        """Whether the engine works on an answer."""
        return self.reply is not None

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

    def shows(self, record: Record) -> bool:
        """Whether a message is on the path that is shown."""
        return any(shown.id == record.id for shown in self.records)

    def open(self, conversation: int | None) -> None:
        """Show a conversation; None is a new one, which is kept once something is said."""
        self.conversation = conversation
        self.records = () if conversation is None else self.store.path(conversation)
        self.show()

    def show(self) -> None:
        """Put the path on the screen anew."""
        reply = self.reply if self.reply and self.shows(self.reply.record) else None
        # What streams is shown as it streamed: the store has an older state of it.
        blank = [
            replace(r, content="") if reply and r.id == reply.record.id else r for r in self.records
        ]
        self._view.open(blank, self.store.trace)
        if reply is not None:
            reply.move_to(self._answer_of(reply.record))

    def ask(
        self, text: str, attachments: Sequence[Attachment], instead_of: Record | None = None
    ) -> UserTurn:
        """Keep and show what the person says, `instead_of` an earlier question or at the end."""
        if instead_of is not None:
            self.cut_before(instead_of)
        record = self.stored(lambda: self._ask(text, attachments))
        self.records = (*self.records, record)
        return self._view.ask(text, record, attachments)

    def cut_before(self, record: Record) -> None:
        """Show the path up to a message, without it."""
        ids = [shown.id for shown in self.records]
        self.records = self.records[: ids.index(record.id)]
        self.show()

    def take_back(self, turn: UserTurn) -> None:
        """Remove a question that was not answered; the caller has its text."""
        record = turn.record
        if record is not None:
            self.store.drop(record.id)
            self.records = tuple(shown for shown in self.records if shown.id != record.id)
        turn.remove()

    def answer(self, model: ModelInfo, mode: Mode) -> Request:
        """Begin an answer to the last question; return what the engine needs for it."""
        path = self.records
        record = self.stored(lambda: self._answer(model))
        widget = self._view.begin(model.name, record)
        self.records = (*self.records, record)
        self.reply = Reply(record, widget)
        again = max(0, len(record.siblings) - 1)
        return inquiry(path, self.system, model.name, mode, self.settings, again)

    def go_on(self, model: ModelInfo, mode: Mode) -> Request:
        """Go on with the last answer, which was cut; return what the engine needs for it."""
        record = self.records[-1]
        widget = self._answer_of(record)
        widget.resume()
        self.reply = Reply(record, widget, self.store.trace(record.id))
        return inquiry(self.records, self.system, model.name, mode, self.settings)

    def race(
        self, text: str, attachments: Sequence[Attachment], model: ModelInfo
    ) -> Request | None:
        """Return what a race answers: `text` after what was said so far, or the last question."""
        path = self.records
        if text.strip() or attachments:
            said = inquiry(path, self.system, model.name, "auto", self.settings)
            question = Message("user", joined(text, attachments))
            return replace(said, messages=(*said.messages, question))
        while path and path[-1].role != "user":
            path = path[:-1]
        return inquiry(path, self.system, model.name, "auto", self.settings) if path else None

    def prepared(self, event: Prepared) -> None:
        """Say what the prompt lacks."""
        if event.dropped_turns:
            self.note(f"Left out, to fit the context: the oldest turns ({event.dropped_turns}).")

    def note(self, text: str) -> None:
        """Warn in front of the answer under way."""
        shown = self.reply is not None and self.shows(self.reply.record)
        self._view.note(text, "warning", self.reply.widget if shown and self.reply else None)

    def decoded(self, event: Decoded) -> None:
        """Take one round."""
        if self.reply is not None:
            self.reply.add(event)

    def keep(self) -> None:
        """Save what there is of the answer under way; may be called on any thread.

        Raises:
            StorageError: it cannot be written.
        """
        if self.reply is not None:
            self.reply.keep(self.store)

    def finished(self, event: Finished) -> Record | None:
        """Keep the answer; return the question when it was stopped before the first word."""
        reply = self.reply
        if reply is None:
            return None
        if event.stop is Stop.CANCELLED and not (reply.text or event.text):
            return self._forget(reply)
        self._close(reply, self.stored(lambda: reply.finish(self.store, event)), footnote(event))
        return None

    def failed(self, event: Failed) -> Record | None:
        """Keep what there is of the answer; return the question if there is nothing of it."""
        reply = self.reply
        if reply is None:
            return None
        question = None
        if reply.text:
            record = self.stored(lambda: reply.abandon(self.store, "failed"))
            self._close(reply, record, "cut by an error")
        else:
            question = self._forget(reply)
        self._view.note(event.message, "error")
        return question

    def leave(self) -> None:
        """Keep the answer under way as stopped: the program ends."""
        if (reply := self.reply) is not None:
            self.stored(lambda: reply.abandon(self.store, "stopped"))
            self.reply = None

    def stored(self, do: Callable[[], Value]) -> Value:
        """Do something with the store, in memory when its file cannot be written."""
        try:
            return do()
        except StorageError as error:
            self._lost(error)
            self._go_on_in_memory()
            return do()

    def _answer_of(self, record: Record) -> Answer:
        turns = reversed(self._view.turns)  # those of the last time may not be gone yet
        return next(
            t for t in turns if isinstance(t, Answer) and t.record and t.record.id == record.id
        )

    def _ask(self, text: str, attachments: Sequence[Attachment]) -> Record:
        if self.conversation is None:
            self.conversation = self.store.begin(system=self.system)
        parent = self.leaf.id if self.leaf else None
        return self.store.ask(self.conversation, parent, text, attachments)

    def _answer(self, model: ModelInfo) -> Record:
        assert self.conversation is not None, "an answer follows a question"
        return self.store.answer(self.conversation, self.records[-1].id, model.name)

    def _close(self, reply: Reply, record: Record, line: str) -> None:
        self.reply = None
        self.records = tuple(record if r.id == record.id else r for r in self.records)
        reply.widget.record = record
        reply.widget.finish(line, record.state)

    def _forget(self, reply: Reply) -> Record | None:
        """Drop an empty answer, and return its question if that has no other one."""
        self.reply = None
        self.store.drop(reply.record.id)
        if not self.shows(reply.record):
            return None
        question = self.records[-2]
        if len(reply.record.siblings) == 1:
            self.store.drop(question.id)
        self.open(self.conversation)
        return question if len(reply.record.siblings) == 1 else None

    def move_to(self, store: Store) -> None:
        """Go on in another store, with a copy of the path that is shown."""
        if self.conversation is None:
            self._store = store
            return
        system = self.system
        self._store = store
        kept: list[Record] = []
        self.conversation = store.begin(system=system)
        for record in self.records:
            kept.append(self._copy(record, kept[-1].id if kept else None, self.conversation))
        self.records = tuple(kept)
        if self.reply is not None and kept:
            self.reply.record = kept[-1]
        self.show()

    def _go_on_in_memory(self) -> None:
        from assistant.store import Store

        self.move_to(Store(None))

    def _copy(self, record: Record, parent: int | None, conversation: int) -> Record:
        if record.role == "user" or parent is None:
            return self.store.ask(conversation, parent, record.content, record.attachments)
        new = self.store.answer(conversation, parent, record.model)
        if record.state == "streaming":
            return new
        ids, stats, stop = record.token_ids, record.stats, record.stop
        return self.store.end(new.id, record.content, ids, (), stats, stop, record.state)
