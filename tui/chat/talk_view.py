"""What a session says, and what the engine does for it, on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.events import Decoded, Loading, Prefilled, Step, Warned
from assistant.session.citing import copied_last
from assistant.session.events import (
    Added,
    AnswerEnded,
    ApprovalClosed,
    ApprovalRequested,
    Changed,
    Indexing,
    InputRestored,
    NeedsModel,
    NotSaved,
    PathShown,
    Removed,
    SessionEvent,
    ToolsStarting,
)
from assistant.session.messages import passages_of
from assistant.session.support import check
from models.errors import StorageError
from tui.chat.conversation.answer import Answer
from tui.chat.conversation.turn import Turn
from tui.chat.layout import ChatLayout
from tui.chat.prompt.file_search import located
from tui.chat.status import Activity
from tui.chat.tools.result_turn import ResultTurn
from tui.figures import counted, model_name
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.session.chat_session import ChatSession
    from assistant.store.values import StoredMessage
    from tui.chat.tools.approval_turn import ApprovalTurn

FIGURES_EVERY = 0.5
"""Seconds between two looks of a round's figures: they change no more often than one can read."""


class TalkView:
    """Show a conversation, the answer under way and the calls that it asks for."""

    def __init__(self, parts: ChatLayout, session: ChatSession) -> None:
        self.parts, self._view, self.session = parts, parts.conversation, session
        self._view.trace, self._view.changes = session.branch.trace, self._changes
        self._view.support = lambda record: check(record, session.branch.records)
        self._figures: Decoded | None = None  # to be shown
        self._replaces = False  # whether the next answer replaces what had the keys
        self.asked: ApprovalTurn | None = None
        """The call that the user is asked about."""
        self.call_is_wanted = False
        """Whether the user asked for the call that is asked about next."""

    def show(self, event: SessionEvent) -> None:
        """Show what the session says."""
        match event:
            case PathShown(path):
                self._show_path(path)
            case Decoded():
                self._grow(event)
            case Loading() | Prefilled():
                self._progress(event)
            case Added(record) if record.role == "user":
                self._view.ask(record).add_class("waiting")
                self._replaces = False
                self.list_chats()
            case Added(record) if record.role == "tool":
                self._view.mount(ResultTurn(record))
            case Added(record) if self.session.branch.shows(record):
                self._begin(record)
            case Changed(record) if turn := self._turn(record):
                self._change(turn, record)
            case Removed(record) if turn := self._turn(record):
                turn.remove()
            case InputRestored(text, attachments):
                if not self.parts.prompt.restore_input(text, attachments):
                    hint = "↑ in an empty prompt brings back the unanswered question."
                    self.parts.notify(hint, markup=False)
            case Warned(text, severity):
                self._view.note(text, severity, self._growing if severity == "warning" else None)
                if severity == "error" and not self.parts.is_active:
                    self.parts.notify(safe(text), severity="error", markup=False)
            case NotSaved(reason):
                self.parts.banner.not_saved(StorageError(reason))
            case NeedsModel():
                self.parts.app.call_later(self.parts.app.run_action, "app.choose_model")
            case ApprovalRequested():
                self._ask(event)
            case ApprovalClosed() if self.asked is not None:
                self.asked.remove()
                self.asked = None
            case ToolsStarting(over):
                activity = None if over else Activity("starting the tools", 0.0)
                self.parts.status.show(activity=activity)
            case Indexing(text, None):
                self.parts.status.show(activity=None)
                if text:
                    self.parts.notify(safe(text), timeout=8, markup=False)
            case Indexing(text, float(fraction)):
                self.parts.status.show(activity=Activity(text, fraction))
            case AnswerEnded():
                self._end()
        if isinstance(event, Added | Changed | AnswerEnded):
            self.parts.refresh_bindings()

    def list_chats(self) -> None:
        """List the conversations again, from the current store."""
        path, chats = self.session.branch, self.parts.chats
        if path.store is not None:
            chats.use(path.store)
        chats.rows.current = path.conversation
        chats.refresh_list()

    # Messages

    def _begin(self, record: StoredMessage) -> None:
        self._view.query(".waiting").remove_class("waiting")
        self._view.begin(record)
        if self._replaces and isinstance(self.parts.focused, Turn):
            self._view.focus_last()

    def _change(self, turn: Turn, record: StoredMessage) -> None:
        if isinstance(turn, Answer) and record.state == "streaming":
            turn.resume()
            return
        turn.record = record
        if isinstance(turn, Answer):
            turn.end(record)

    def _changes(self, record: StoredMessage) -> str:
        """Return the name of a file that is there and that an answer has a new version of."""
        if not any(each.attachments for each in self.session.branch.records):
            return ""
        from assistant.edit.rewrite import proposed_by

        found = proposed_by(record, self.session.branch.records)
        is_there = found and located(found.name, self.parts.prompt.picker.root).is_file()
        return found.name if found and is_there else ""

    def _show_path(self, path: Sequence[StoredMessage]) -> None:
        at = self.parts.focused
        self._replaces = isinstance(at, Turn) and at.record not in path
        # What streams is shown as it streamed: the store has an older state of it.
        streaming = [(record, self.session.responses.partial_of(record)) for record in path]
        self._view.open(
            [replace(r, content="", thought="") if so_far else r for r, so_far in streaming]
        )
        for record, so_far in streaming:
            if so_far is not None and isinstance(answer := self._turn(record), Answer):
                for step in so_far.trace:
                    answer.add(step)
                answer.call(so_far.tool_calls)

    def _turn(self, record: StoredMessage) -> Turn | None:
        """Return the turn on the screen that shows a message; older ones may not be gone yet."""
        turns = reversed(self._view.turns)
        return next((t for t in turns if t.record is not None and t.record.id == record.id), None)

    # The answer under way

    @property
    def _growing(self) -> Turn | None:
        """The turn of the answer under way, if that is on the screen."""
        answer, path = self.session.responses.under_way, self.session.branch
        return self._turn(answer.record) if answer and path.shows(answer.record) else None

    def _grow(self, event: Decoded) -> None:
        """Show a round of the answer under way, if that is on the screen."""
        answer = self._growing
        if not isinstance(answer, Answer):
            return
        answer.add(Step(event.tokens, event.rejected))
        answer.call(event.tool_calls)
        answer.tell(event.stats)
        if self._figures is None:
            self.parts.set_timer(FIGURES_EVERY, self._show_figures)
        self._figures = event
        self.parts.panel.take(event)
        passages = passages_of(self.session.branch.records).values()
        if found := copied_last(answer.text, event.tokens, passages):
            self.parts.panel.copied = found
        self._view.explain(event.tokens)

    def _show_figures(self) -> None:
        event, self._figures = self._figures, None
        if event is not None:
            self.parts.status.show(activity=None, last=event)
            self.parts.panel.paint()

    def _end(self) -> None:
        self._show_figures()
        self.parts.status.show(activity=None, last=self.parts.panel.last)
        self.list_chats()

    # Calls

    def _ask(self, waits: ApprovalRequested) -> None:
        from tui.chat.tools.approval_turn import ApprovalTurn

        self.asked = turn = ApprovalTurn(waits.call, waits.tool)
        self._view.mount(turn)
        prompt, screen = self.parts.prompt, self.parts
        free = screen.is_active and screen.focused is prompt.editor and not prompt.text
        if self.call_is_wanted or (waits.urgent and free):
            turn.unasked = not self.call_is_wanted
            turn.focus(scroll_visible=False)
        else:  # a key that is pressed now means something else
            text = "A tool call is waiting for you; Ctrl+↑ goes there."
            self.parts.notify(text, timeout=6, markup=False)
        self.call_is_wanted = False

    def _progress(self, event: Loading | Prefilled) -> None:
        """Show how far a model has loaded, or has read a prompt."""
        match event:
            case Loading(_, name, fraction):
                verb = "loading" if fraction < 1 else "preparing"
                text = f"{verb} {model_name(name)}"
                self.parts.status.show(activity=Activity(text, fraction))
            case Prefilled(role, done, total):
                who = (
                    "reading the prompt" if role == "target" else "the guessing model reads it, too"
                )
                text = f"{who}: {done:,} of {counted(total, 'token')}"
                self.parts.status.show(activity=Activity(text, done / total if total else 1.0))
