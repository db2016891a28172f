"""What was said so far and what is being answered: the chat without its keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.attachment import Attachment
from assistant.events import Decoded, Failed, Finished, ModelInfo, Prepared, Stop
from assistant.request import Message, Mode, Request
from models.errors import StorageError
from tui.chat.chat_request import inquiry
from tui.chat.conversation.user_turn import UserTurn
from tui.chat.conversation_state import ConversationState
from tui.chat.prompt.attachments import joined
from tui.chat.reply import Reply
from tui.figures import footnote

if TYPE_CHECKING:  # it brings SQLite along, which the first frame does not wait for
    from assistant.store import Record


class Dialogue(ConversationState):
    """Keep what is said, and have it answered: what is sent is stored before it is asked."""

    @property
    def busy(self) -> bool:
        """Whether the engine works on an answer."""
        return self.reply is not None

    def ask(
        self, text: str, attachments: Sequence[Attachment], instead_of: Record | None = None
    ) -> UserTurn:
        """Keep and show what the person says, `instead_of` an earlier question or at the end."""
        if instead_of is not None:
            self.cut_before(instead_of)
        record = self.stored(lambda: self._ask(text, attachments))
        self.records = (*self.records, record)
        self._view.trace = self.store.trace
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
            self.drop(record)
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
        return inquiry(path, self.system, model.name, mode, self.settings, again, self.store.saves)

    def go_on(self, model: ModelInfo, mode: Mode) -> Request:
        """Go on with the last answer, which was cut; return what the engine needs for it."""
        record = self.records[-1]
        widget = self.answer_of(record)
        widget.resume()
        self.reply = Reply(record, widget, self.store.trace(record.id))
        return inquiry(
            self.records, self.system, model.name, mode, self.settings, stored=self.store.saves
        )

    def several(self, model: ModelInfo, mode: Mode, count: int) -> tuple[list[Record], Request]:
        """Make room for some answers to the last question; return it and what the engine needs."""

        def begin() -> list[Record]:
            records = [self._answer(model) for _ in range(count)]
            self.store.choose(records[0].id)
            return records

        path, records = self.records, self.stored(begin)
        again = max(0, len(records[0].siblings) - 1)
        asked = inquiry(path, self.system, model.name, mode, self.settings, again, self.store.saves)
        return records, replace(asked, answers=count)

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

    def decoded(self, event: Decoded) -> None:
        """Take one round."""
        if self.reply is not None:
            self.reply.add(event)

    def finished(self, event: Finished) -> Record | None:
        """Keep the answer; return the question when it was stopped before the first word."""
        reply = self.reply
        if reply is None:
            return None
        if event.stop is Stop.CANCELLED and not (reply.text or event.text):
            return self._forget(reply)
        end = reply.whole(event)
        below = footnote(end.text, end.stop, "complete", end.stats)
        self._close(reply, lambda: reply.finish(self.store, end), below)
        return None

    def failed(self, event: Failed) -> Record | None:
        """Keep what there is of the answer; return the question if there is nothing of it."""
        reply = self.reply
        if reply is None:
            return None
        question = None
        if reply.text:
            self._close(reply, lambda: reply.abandon(self.store, "failed"), "cut by an error")
        else:
            question = self._forget(reply)
        self._view.note(event.message, "error")
        return question

    def leave(self) -> None:
        """Keep the answer under way as stopped: the program ends."""
        if (reply := self.reply) is not None:
            self._ended(reply, lambda: reply.abandon(self.store, "stopped"))
            self.reply = None

    def _ask(self, text: str, attachments: Sequence[Attachment]) -> Record:
        if self.conversation is None:
            self.conversation = self.store.begin(system=self.system)
            self.enter()
        parent = self.leaf.id if self.leaf else None
        return self.store.ask(self.conversation, parent, text, attachments)

    def _answer(self, model: ModelInfo) -> Record:
        assert self.conversation is not None, "an answer follows a question"
        return self.store.answer(self.conversation, self.records[-1].id, model.name)

    def _close(self, reply: Reply, end: Callable[[], Record], line: str) -> None:
        record = self._ended(reply, end)
        self.reply = None
        if record is not None:
            self.records = tuple(record if r.id == record.id else r for r in self.records)
            reply.widget.record = record
            reply.widget.finish(line, record.state)

    def _ended(self, reply: Reply, end: Callable[[], Record]) -> Record | None:
        """Return the answer as it is kept; None when it cannot be, and is not shown either."""
        if self.shows(reply.record):
            return self.stored(end)
        try:
            return end()
        except StorageError as error:
            self._lost(error)
            return None

    def _forget(self, reply: Reply) -> Record | None:
        """Drop an empty answer, and return its question if that has no other one."""
        self.reply = None
        self.drop(reply.record)
        if not self.shows(reply.record):
            return None
        question = self.records[-2]
        if len(reply.record.siblings) == 1:
            self.drop(question)
        self.open(self.conversation)
        return question if len(reply.record.siblings) == 1 else None
