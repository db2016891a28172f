"""The chat between its screen, its session and the engine: settings, prompts and events."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from time import monotonic

from textual.timer import Timer

from assistant.events import Event, Failed, PrefillDone, Prefilled, Ready, Warned
from assistant.request import EngineArgs, Prefill, Request
from assistant.session import events
from assistant.session.attachments import ReadingLimits
from assistant.session.chat_session import ChatSession
from assistant.session.unsent_text import Unsent, UnsentText
from assistant.settings.settings import Settings
from assistant.store.values import StoredMessage
from assistant.tools.toolbox import ToolSet
from models.errors import ContextFull, SpecchatError
from tui.app.program import Program
from tui.chat.conversation.welcome import SUGGESTIONS
from tui.chat.layout import ChatWidgets
from tui.chat.session_view import SessionView
from tui.outlook import can_guess, suggest_larger, without_draft
from tui.reading import Activity

ALTERNATIVES = 5
"""Alternative tokens that the engine reports with each token, for the inspector."""
LONG_S = 10.0
"""Seconds of an answer from which its end rings the bell: users wait for shorter ones."""
SUGGESTED = "suggested"
"""The stored key that says whether a larger model was suggested."""
PAUSE_S = 0.4
"""Seconds without a key after which typing has paused."""


class ChatController:
    """The state of a chat: its settings, its session, its models and the widgets that show them.

    Prompts go from the widgets to the session, its events go back; meanwhile models are loaded and
    prefill the prompt that is expected next.
    """

    def __init__(self, widgets: ChatWidgets, settings: Settings, program: Program) -> None:
        self.widgets, self.program = widgets, program
        self.settings = settings
        """The settings in force."""
        self.session = ChatSession(
            self.handle,
            program.do,
            program.follow_events,
            tools=ToolSet(settings.tools, settings.offline, opt_in=True),
            make_request=self._make_request,
            settings=lambda: self.settings,
        )
        self.view = SessionView(widgets, self.session)
        """Shows the events of the session."""
        self.unsent = UnsentText(widgets.prompt, self.session)
        """The text in the prompt, the queue, and those of other conversations."""
        self.setup: EngineArgs | None = None
        """The files of the models, once they are found."""
        self.ready: Ready | None = None
        """The models, once they are loaded."""
        self._no_draft: str | None = None  # the reason, where it was known before loading
        self.may_suggest = False
        """Whether a larger model may be suggested, which is done once."""
        self.when_ready: Callable[[], None] | None = None
        """The action that the user chose while the models are loaded."""
        self._pause: Timer | None = None
        self._prefill: Prefill | None = None  # the last job, unless it was stopped
        self._started_at = 0.0  # when the current answer or tool call started
        self._closing = False  # the program ends, and nothing is shown any more

    def apply(self, settings: Settings) -> None:
        """Use other settings, from the next round or answer on."""
        self.settings = settings
        self.widgets.conversation.switch(
            colours=settings.colours, ghosts=settings.ghosts, thoughts=settings.show_thinking
        )
        self.widgets.status.show(mode=settings.mode)
        self.widgets.prompt.attached.limits = ReadingLimits.of(self.ready, settings)
        self.session.requests.stream.update(settings.mode, settings.lookahead, settings.sampling)

    # What the user does

    def submit(self, unsent: Unsent | None) -> None:
        """Answer a prompt, or queue it during another answer; None is the next one in the queue."""
        if unsent is None:
            self.unsent.submit_next()
        else:
            self.unsent.submit(unsent)
        self._update_queue()

    def edit_question(self, question: StoredMessage) -> None:
        """Put an earlier question into the prompt, to be edited and asked again."""
        self.cancel_edit()
        self.unsent.change(question)
        self.widgets.prompt.focus()

    def cancel_edit(self) -> None:
        """Leave the edited question as it was; the edited text is remembered."""
        if self.unsent.leave():
            hint = "Your change is kept; press e on that message to continue it."
            self.widgets.notify(hint, timeout=5)

    def switch(self, open_other: Callable[[], None]) -> None:
        """Open another conversation, with its unsent text; StorageError if that fails."""
        self.stop()
        self.cancel_edit()
        try:
            open_other()
        finally:
            self.show_switched()

    def show_switched(self) -> None:
        """Update the rest of the screen for the conversation that was opened."""
        self.unsent.switch()
        self.view.list_chats()
        self.session.read_folders(self.widgets.prompt.attachments)
        self.prefill_soon()
        self.widgets.refresh_bindings()

    def stop(self) -> None:
        """Stop the answer or the tool call and keep its text, or withdraw a waiting prompt."""
        self.session.stop()
        self.widgets.refresh_bindings()

    def shutdown(self) -> None:
        """Save what is under way, and show nothing more: the program ends."""
        self._closing = True
        self.session.shutdown()

    # Events of the engine and the session

    def _make_request(self) -> Request:
        constraint = self.widgets.prompt.constraint
        return replace(self.settings.request(), constraint=constraint, alternatives=ALTERNATIVES)

    def handle(self, event: events.SessionEvent) -> None:
        """Act on an event, and show it."""
        if self._closing:
            return
        match event:
            case Ready():
                self.show_ready(event)
                self.prefill_soon()
                self.widgets.refresh_bindings()
                wanted, self.when_ready = self.when_ready, None
                if wanted:
                    self.widgets.call_later(wanted)
            case events.AnswerEnded() | events.ApprovalRequested():
                self.prefill_soon()
            case events.InputRestored():
                self.unsent.question_returned()
            case events.FullyAnswered():
                if self.may_suggest and not self.settings.offline:
                    self.may_suggest = False
                    self.program.run_worker(self._suggest_larger, thread=True)
                self.unsent.submit_next()
        self._ring(event)
        self.view.show(event)
        self._update_queue()

    def _ring(self, event: events.SessionEvent) -> None:
        """Ring for a tool call that needs approval, and at the end of a long answer."""
        text = ""
        match event:
            case events.Added(record) | events.Changed(record) if record.state == "streaming":
                self._started_at = monotonic()
            case events.ApprovalRequested():
                text = "A tool call is waiting for you."
            case events.AnswerEnded() if self.session.tool_loop.next_call is None:
                if monotonic() - self._started_at > LONG_S:
                    text = "The answer is complete."
        if text and self.settings.notify == "auto":
            self.program.ring(text)

    def _update_queue(self) -> None:
        """Mark the queue as paused while no answer is under way that submits the next."""
        paused = self.unsent.may_submit and self.session.tool_loop.next_call is None
        self.widgets.prompt.queue.paused = paused

    # Models

    @property
    def needs_model(self) -> bool:
        """Whether a prompt waits for a model that the user must choose first."""
        session = self.session
        return session.waits and not session.requests.expects_model and self.ready is None

    def expect_models(self) -> None:
        """Show that models are being looked for."""
        self.ready = self.widgets.prompt.attached.submit = None
        self.session.requests.expect_model()
        self.widgets.status.show(loaded=False, activity=Activity("looking for the models", 0.0))

    def load_models(self, setup: EngineArgs, no_draft: str | None) -> None:
        """Load models, which stops an answer; waiting prompts are answered afterwards."""
        self.setup, self._no_draft = setup, no_draft
        self.session.requests.stream.cancel()
        self.program.submit(setup, self._handle_loading)

    def show_missing(self, reason: str) -> None:
        """Say why there is no model, and restore a waiting prompt."""
        self.ready = self.when_ready = None
        self.widgets.status.show(loaded=False, activity=None)
        self.widgets.banner.text = "no model"
        self.session.no_model(reason)

    def _handle_loading(self, event: Event) -> None:
        if isinstance(event, Failed):
            self.show_missing(event.message)
        else:
            self.handle(event)

    def show_ready(self, ready: Ready) -> None:
        """Use the loaded models for answers, and show their names."""
        widgets, settings, attached = self.widgets, self.settings, self.widgets.prompt.attached
        no_draft = None if ready.draft else self._no_draft or ready.no_draft
        drafting, n_ctx = can_guess(ready, settings), ready.target.n_ctx
        self.ready = ready
        widgets.banner.ready(ready)
        widgets.panel.ready(ready, no_draft)
        widgets.status.show(loaded=True, activity=None, drafting=drafting, n_ctx=n_ctx, last=None)
        attached.limits, attached.submit = ReadingLimits.of(ready, settings), self.program.submit
        attached.recount()
        if note := without_draft(no_draft, ready, settings):
            widgets.conversation.note(note, "warning")
        self.session.ready(ready.target)

    def _suggest_larger(self) -> None:
        """Name, below an answer, a larger model that would run well here."""
        store, ready, settings = self.session.branch.store, self.ready, self.settings
        with suppress(SpecchatError, OSError, RuntimeError):  # the program may have ended
            if store and ready and (text := suggest_larger(ready.target.path, settings)):
                self.program.call_from_thread(self.view.show, Warned(text))
                store.remember(SUGGESTED, "1")

    # Prefill while the user reads and types, so that the answer starts sooner

    def prefill_soon(self) -> None:
        """Prefill the conversation, the attachments and the typed text once the user pauses."""
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.widgets.set_timer(PAUSE_S, self._start_prefill)

    async def _start_prefill(self) -> None:
        """Prefill the expected prompt once, unless there is no model or it is busy."""
        session, prompt, ready = self.session, self.widgets.prompt, self.ready
        if ready is None or not session.idle or not self.settings.may_read_ahead:
            return
        records, attached, text = session.branch.records, prompt.attachments, prompt.text
        if not (records or attached or text):
            text = SUGGESTIONS[0].text  # the most likely prompt
        if text:
            question = session.branch.question(text, attached)
            attached, _ = await session.folders.find(question, records, ready.target)
        request = session.requests.next(text, attached, self.unsent.replaced)
        if request and session.idle and self._prefill != Prefill(request):
            self._prefill = Prefill(request)
            self.program.submit(self._prefill, self._handle_prefill)

    def _handle_prefill(self, event: Event) -> None:
        match event:
            case Prefilled(_, done, total) if self.session.idle:
                self.widgets.status.show(activity=Activity("reading ahead", done / total))
            case PrefillDone():
                self.view.show_idle(self.session.idle)
            case Failed(message, kind):  # it does not fit, or another job replaced it
                self._prefill = None
                if kind == ContextFull.__name__:
                    self.widgets.prompt.refuse(message)
                self.view.show_idle(self.session.idle)
