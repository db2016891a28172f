"""Events of the session and the engine, shown on the screen of the chat."""

from collections.abc import Sequence
from dataclasses import replace

from assistant.events import Decoded, Loading, Prefilled, Step, Warned
from assistant.session import events
from assistant.session.chat_session import ChatSession
from assistant.store.values import StoredMessage
from models.errors import StorageError
from tui.chat.conversation.answer import Answer
from tui.chat.conversation.tool_turns import ApprovalTurn
from tui.chat.conversation.turn import Turn
from tui.chat.layout import ChatWidgets
from tui.labels import TO_MESSAGES
from tui.reading import Activity, AnswerProgress

FIGURES_EVERY = 0.5
"""Seconds between two updates of the figures: faster ones cannot be read."""
WAITING, ANSWERING = Activity("waiting for the model", 0.0), Activity("answering", 1.0)


class SessionView:
    """Show a conversation, the answer under way and the calls that it asks for."""

    def __init__(self, widgets: ChatWidgets, session: ChatSession) -> None:
        self._screen, self.session = widgets, session
        self._conversation = widgets.conversation
        self._conversation.branch = session.branch
        self._pending_figures: Decoded | None = None  # shown by the next timer
        self._progress = AnswerProgress()
        self._takes_focus = False  # whether the next answer replaces the turn that had the focus
        self.approval: ApprovalTurn | None = None
        """The tool call that waits for the user's approval."""
        self.focus_approval = False
        """Whether the next approval gets the focus, because the user asked for that call."""

    def show(self, event: events.SessionEvent) -> None:
        """Show an event."""
        match event:
            case events.PathShown(path):
                self._show_path(path)
                if self.session.branch.saves:
                    self._screen.banner.is_saved = True
            case Decoded():
                self._show_round(event)
            case Loading() | Prefilled():
                self._screen.status.show(activity=self._progress.describe(event))
            case events.Added(record) if record.role == "user":
                self._conversation.add_question(record).add_class("waiting")
                self.show_idle(False)
                self._clear_figures()
                self._takes_focus = False
                self.list_chats()
            case events.Added(record) if record.role == "tool":
                self._conversation.add(record)
            case events.Added(record) if self.session.branch.shows(record):
                self._conversation.query(".waiting").remove_class("waiting")
                self._conversation.add(record)
                self._clear_figures()
                if self._takes_focus and isinstance(self._screen.focused, Turn):
                    self._conversation.focus_last()
            case events.Changed(record) if turn := self._turn(record):
                if not isinstance(turn, Answer):
                    turn.record = record
                elif record.state == "streaming":
                    turn.resume()
                else:
                    turn.end(record)
            case events.Removed(record) if turn := self._turn(record):
                self._conversation.remove_turn(turn)
            case events.InputRestored(text, attachments):
                self.show_idle(self.session.idle)
                if not self._screen.prompt.restore_input(text, attachments):
                    self._screen.notify("↑ in an empty prompt brings back the unanswered question.")
            case Warned(text, severity):
                before = self._streaming if severity == "warning" else None
                self._conversation.note(text, severity, before)
                if not self._screen.is_active:
                    self._screen.notify(text, severity=severity)
            case events.NotSaved(reason):
                self._screen.banner.not_saved(StorageError(reason))
            case events.NeedsModel():
                self._screen.app.call_later(self._screen.app.run_action, "app.choose_model")
            case events.ApprovalRequested():
                self._ask_approval(event)
            case events.ApprovalClosed() if self.approval is not None:
                self.approval.remove()
                self.approval = None
            case events.Preparing(text, fraction):
                if self.session.idle or self.session.waits:  # an answer has its own progress
                    self.show_idle(self.session.idle)
                    if fraction is not None:
                        self._screen.status.show(activity=Activity(text, fraction))
                if text and fraction is None:
                    self._screen.notify(text, timeout=8)
            case events.AnswerEnded():
                self._show_figures()
                self._screen.status.show(activity=None, last=self._screen.panel.last)
                self.list_chats()
        if isinstance(event, events.Added | events.Changed | events.Removed | events.AnswerEnded):
            self._screen.refresh_bindings()

    def list_chats(self) -> None:
        """Refresh the list of conversations, from the current store."""
        branch, chats = self.session.branch, self._screen.chats
        if branch.store is not None:
            chats.use(branch.store)
        chats.rows.current = branch.conversation
        self._screen.status.show(tools=self.session.tool_loop.enabled)
        chats.refresh_list()

    # Turns

    def _show_path(self, path: Sequence[StoredMessage]) -> None:
        self._clear_figures()
        focused = self._screen.focused
        self._takes_focus = isinstance(focused, Turn) and focused.record not in path
        # A streaming answer is shown from its rounds: the store has an older state of it.
        partial = self.session.responses.under_way
        under_way = partial.record.id if partial else None
        self._conversation.open([_as_opened(record, record.id == under_way) for record in path])
        answer = self._streaming
        if partial is not None and isinstance(answer, Answer):
            for step in partial.trace:
                answer.add(step)
            answer.show_call([delta for event in partial.rounds for delta in event.tool_calls])

    def _turn(self, record: StoredMessage) -> Turn | None:
        """Return the newest turn that shows a message: removed turns may still be mounted."""
        turns = reversed(self._conversation.turns)
        return next((turn for turn in turns if turn.record.id == record.id), None)

    # The answer under way

    @property
    def _streaming(self) -> Turn | None:
        """The turn of the answer under way, if it is on the screen."""
        answer, branch = self.session.responses.under_way, self.session.branch
        return self._turn(answer.record) if answer and branch.shows(answer.record) else None

    def _show_round(self, event: Decoded) -> None:
        answer = self._streaming
        if not isinstance(answer, Answer):
            return  # it is of another conversation
        answer.show_call(event.tool_calls)
        answer.add(Step(event.tokens, event.rejected))
        if before := answer.record.stats:  # it is continued: the figures are of all of it
            stats = before.plus(event.stats)
            event = Decoded((), (), event.lookahead, event.context_used, stats, event.forecast)
        if self._screen.status.state.activity is not None:  # the prompt has been read
            self._screen.status.show(activity=ANSWERING)  # until there are figures
        answer.show_stats(event.stats)
        if self._pending_figures is None:
            self._screen.set_timer(FIGURES_EVERY, self._show_figures)
        self._pending_figures = event
        self._screen.panel.add(event)

    def _clear_figures(self) -> None:
        self._pending_figures = None
        self._screen.status.show(last=None)
        self._screen.panel.clear()

    def _show_figures(self) -> None:
        event, self._pending_figures = self._pending_figures, None
        if event is not None:
            self._screen.status.show(activity=None, last=event)
            self._screen.panel.paint()

    # Tool calls

    def _ask_approval(self, request: events.ApprovalRequested) -> None:
        self.approval = turn = ApprovalTurn(request.call, request.tool)
        self._conversation.mount(turn)
        prompt, screen = self._screen.prompt, self._screen
        free = screen.is_active and screen.focused is prompt.editor and not prompt.text
        if self.focus_approval or (request.urgent and free):
            turn.autofocused = not self.focus_approval
            turn.focus(scroll_visible=False)
        else:  # a key that is pressed now is meant for something else
            text = f"A tool call is waiting for you; {TO_MESSAGES} goes there."
            self._screen.notify(text, timeout=6)
        self.focus_approval = False

    def show_idle(self, idle: bool) -> None:
        """Show that nothing is under way, or that a question waits for the model."""
        if not (self.session.requests.expects_model or self._streaming):
            self._screen.status.show(activity=None if idle else WAITING)


def _as_opened(record: StoredMessage, is_under_way: bool) -> StoredMessage:
    """Return a message as it is shown at first: without the rounds that follow, if any."""
    if is_under_way:
        return replace(record, content="", thought="")
    is_elsewhere = record.role == "assistant" and record.state == "streaming"
    return replace(record, state="stopped", stop=record.state) if is_elsewhere else record
