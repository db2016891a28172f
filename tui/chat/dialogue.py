"""Questions and their answers: the chat without its keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.events import Failed, Finished, ModelInfo
from assistant.request import Message, Mode, Request
from assistant.store.values import Attachment
from models.errors import StorageError
from tui.chat.answer_writer import AnswerWriter
from tui.chat.chat_request import inquiry
from tui.chat.conversation.answer import below
from tui.chat.conversation.user_turn import UserTurn
from tui.chat.conversation_state import ConversationState
from tui.chat.prompt.attachments import joined
from tui.chat.tools import calls

if TYPE_CHECKING:  # it imports SQLite, which the first frame does not wait for
    from assistant.store import Record


class Dialogue:
    """Keep what is said, and have it answered: what is sent is stored before it is asked."""

    def __init__(self, state: ConversationState) -> None:
        self._state = state

    def ask(
        self, text: str, attachments: Sequence[Attachment], instead_of: Record | None = None
    ) -> UserTurn:
        """Keep and show what the user says, `instead_of` an earlier question or at the end."""
        state = self._state
        if instead_of is not None:
            state.cut_before(instead_of)
        record = state.stored(lambda: self._ask(text, attachments))
        state.records = (*state.records, record)
        state.view.trace = state.store.answers.trace
        return state.view.ask(text, record, attachments)

    def take_back(self, turn: UserTurn) -> None:
        """Remove a question that was not answered; the caller has its text."""
        state, record = self._state, turn.record
        if record is not None:
            state.drop(record)
            state.records = tuple(shown for shown in state.records if shown.id != record.id)
        turn.remove()

    def answer(self, model: ModelInfo, mode: Mode) -> Request:
        """Begin an answer to the last question; return what the engine needs for it."""
        state, path = self._state, self._state.records
        record = state.stored(lambda: self._answer(model))
        state.records = (*path, record)
        state.reply = AnswerWriter(record, state.view.begin(model.name, record))
        return self._request(path, model, mode, again=len(record.siblings) - 1)

    def go_on(self, model: ModelInfo, mode: Mode) -> Request:
        """Continue with the last answer, which was cut; return what the engine needs for it."""
        state, record = self._state, self._state.records[-1]
        view = state.answer_of(record)
        view.resume()
        state.reply = AnswerWriter(record, view, state.store.answers.trace(record.id))
        return self._request(state.records, model, mode)

    def several(self, model: ModelInfo, mode: Mode, count: int) -> tuple[list[Record], Request]:
        """Add places for some answers to the last question; return it and what the engine needs."""

        def begin() -> list[Record]:
            records = [self._answer(model) for _ in range(count)]
            self._state.store.choose(records[0].id)
            return records

        path, records = self._state.records, self._state.stored(begin)
        asked = self._request(path, model, mode, again=len(records[0].siblings) - 1)
        return records, replace(asked, answers=count, tools=())

    def race(
        self, text: str, attachments: Sequence[Attachment], model: ModelInfo
    ) -> Request | None:
        """Return what a race answers: `text` after what was said so far, or the last question."""
        path = self._state.records
        if text.strip() or attachments:
            said = self._request(path, model, "auto")
            question = Message("user", joined(text, attachments))
            return replace(said, messages=(*said.messages, question), stored=False, tools=())
        while path and path[-1].role != "user":
            path = path[:-1]
        return replace(self._request(path, model, "auto"), stored=False, tools=()) if path else None

    def finished(self, event: Finished) -> Record | None:
        """Keep the answer; return the question when it was stopped before the first word."""
        reply = self._state.reply
        if reply is None:
            return None
        if reply.is_nothing(event):
            return self._forget(reply)
        self._close(reply, lambda: reply.finish(self._state.store, event))
        return None

    def failed(self, event: Failed) -> Record | None:
        """Keep what there is of the answer; return the question if there is nothing of it."""
        reply = self._state.reply
        if reply is None:
            return None
        question = None
        if reply.text or reply.thought:
            self._close(reply, lambda: reply.abandon(self._state.store, "failed"))
        else:
            question = self._forget(reply)
        self._state.view.note(event.message, "error")
        return question

    def leave(self) -> None:
        """Keep the answer under way as stopped: the program ends."""
        if (reply := self._state.reply) is not None:
            self._ended(reply, lambda: reply.abandon(self._state.store, "stopped"))
            self._state.reply = None

    def _request(
        self, path: Sequence[Record], model: ModelInfo, mode: Mode, again: int = 0
    ) -> Request:
        state = self._state
        asked = inquiry(
            path, state.system, model.name, mode, state.settings, max(0, again), state.store.saves
        )
        asked = replace(asked, form=state.form, tools=state.tools)
        if not calls.again(calls.asked(path)):
            return asked
        return replace(asked, messages=calls.without_more(asked.messages), tool_choice="none")

    def _ask(self, text: str, attachments: Sequence[Attachment]) -> Record:
        state = self._state
        if state.conversation is None:
            state.conversation = state.store.begin(system=state.system)
            state.enter()
        parent = state.leaf.id if state.leaf else None
        return state.store.ask(state.conversation, parent, text, attachments)

    def _answer(self, model: ModelInfo) -> Record:
        state = self._state
        assert state.conversation is not None, "an answer follows a question"
        return state.store.answers.begin(state.conversation, state.records[-1].id, model.name)

    def _close(self, reply: AnswerWriter, end: Callable[[], Record]) -> None:
        state, record = self._state, self._ended(reply, end)
        state.reply = None
        if record is not None:
            state.records = tuple(record if r.id == record.id else r for r in state.records)
            if reply.view is not None:
                reply.view.record = record
                reply.view.finish(below(record), record.state)

    def _ended(self, reply: AnswerWriter, end: Callable[[], Record]) -> Record | None:
        """Return the answer as it is kept; None when it cannot be, and is not shown either."""
        if self._state.shows(reply.record):
            return self._state.stored(end)
        try:
            return end()
        except StorageError as error:
            self._state.lost(error)
            return None

    def _forget(self, reply: AnswerWriter) -> Record | None:
        """Drop an empty answer, and return its question if that has no other one."""
        state = self._state
        state.reply = None
        state.drop(reply.record)
        if not state.shows(reply.record):
            return None
        question = state.records[-2]
        alone = len(reply.record.siblings) == 1 and question.role == "user"
        if alone:
            state.drop(question)
        state.open(state.conversation)
        return question if alone else None
