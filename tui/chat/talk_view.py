"""A conversation on the screen: what the talk says is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.message import Message

from assistant.talk.events import (
    Added,
    AnswersEnded,
    CallSettled,
    CallWaits,
    Changed,
    GivenBack,
    Grew,
    NeedsModel,
    Noted,
    NotSaved,
    PathShown,
    Removed,
    TalkEvent,
    ToolsStart,
)
from models.errors import StorageError
from tui.chat.conversation.answer import Answer, below
from tui.chat.conversation.turn import Turn
from tui.chat.layout import ChatLayout
from tui.chat.tools.call_display import CallDisplay
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store import Record
    from assistant.talk.talk import Talk


class ModelWanted(Message):
    """A prompt waits, and no model is loaded or being loaded."""


class TalkView:
    """Show a conversation, and the answers under way in it."""

    def __init__(self, parts: ChatLayout) -> None:
        self._parts, self._view = parts, parts.conversation
        self._streaming: dict[int, Answer] = {}  # answers under way that are on the screen
        self.show_beside: Callable[[TalkEvent], None] | None = None
        """Shows answers that are not in the conversation yet: several to one question."""

    def use(self, talk: Talk) -> None:
        """Show what this talk says."""
        self._talk = talk
        self.calls = CallDisplay(self._parts, talk)
        """The calls that answers ask for."""

    def take(self, event: TalkEvent) -> None:
        """Show what the talk says."""
        match event:
            case PathShown(path):
                self._show(path)
            case Added(record) if record.role == "user":
                self._view.trace = self._talk.path.trace
                asked = self._view.ask(record.content, record, record.attachments)
                asked.add_class("waiting")
                self.list_chats()
            case Added(record) if record.role == "assistant" and self._talk.path.shows(record):
                self._begin(record)
            case Grew(record, step, decoded) if record.id in self._streaming:
                answer = self._streaming[record.id]
                answer.add(step)
                answer.call(decoded.calls)
                answer.tell(decoded.stats)
            case Changed(record) if record.state == "streaming":
                self._streaming[record.id] = self._answer_of(record)
                self._streaming[record.id].resume()
            case Changed(record) if record.id in self._streaming:
                answer = self._streaming.pop(record.id)
                answer.record = record
                answer.finish(below(record), record.state)
            case Removed(record):
                self._streaming.pop(record.id, None)
                for turn in self._view.turns:
                    if turn.record is not None and turn.record.id == record.id:
                        turn.remove()
            case GivenBack(text, attachments):
                if not self._parts.prompt.give_back(text, attachments):
                    hint = "Up-arrow in an empty prompt brings back the unanswered one."
                    self._parts.notify(hint, markup=False)
            case Noted(text, severity, before):
                self._view.note(text, severity, self._streaming.get(before.id) if before else None)
                if severity == "error" and not self._parts.screen.is_active:
                    self._parts.notify(safe(text), severity="error", markup=False)
            case NotSaved(reason):
                self._parts.banner.not_saved(StorageError(reason))
            case NeedsModel():
                self._parts.app.post_message(ModelWanted())
            case CallWaits() | CallSettled() | ToolsStart():
                self.calls.take(event)
            case Added(record) | Changed(record) if record.role == "tool":
                self.calls.take(event)
            case _ if self.show_beside is not None:
                self.show_beside(event)
        if isinstance(event, Added | Changed | AnswersEnded):
            self._parts.refresh_bindings()

    def list_chats(self) -> None:
        """List the conversations again, from the current store."""
        path, chats = self._talk.path, self._parts.chats
        if path.store is not None:
            chats.use(path.store)
        chats.current = path.conversation
        chats.refresh_list()

    def _begin(self, record: Record) -> None:
        self._view.query(".waiting").remove_class("waiting")
        followed = isinstance(self._parts.screen.focused, Turn)  # what is replaced
        self._streaming[record.id] = self._view.begin(record.model, record)
        if followed:
            self._view.focus_last()

    def _show(self, path: Sequence[Record]) -> None:
        # What streams is shown as it streamed: the store has an older state of it.
        streaming = [(record, self._talk.answers.so_far(record)) for record in path]
        self._view.open(
            [replace(r, content="", thought="") if so_far else r for r, so_far in streaming],
            self._talk.path.trace,
        )
        self._streaming.clear()
        for record, so_far in streaming:
            if so_far is not None:
                self._streaming[record.id] = answer = self._answer_of(record)
                for step in so_far.trace:
                    answer.add(step)
                answer.call(so_far.calls)

    def _answer_of(self, record: Record) -> Answer:
        """Return the answer on the screen that a record is shown as."""
        turns = reversed(self._view.turns)  # older ones may not be gone yet
        return next(
            t for t in turns if isinstance(t, Answer) and t.record and t.record.id == record.id
        )
