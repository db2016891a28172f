"""The chat: what the user does reaches the talk, and what the talk says is shown and done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.message import Message

from assistant.events import (
    Counted,
    Event,
    Failed,
    Finished,
    Loading,
    ModelInfo,
    Noticed,
    Prefilled,
    Ready,
)
from assistant.request import AnswerForm, Count, Mode, Request, Setup
from assistant.service import EventStream, Submit
from assistant.store.values import Attachment
from assistant.talk.effects import (
    AnswerBegun,
    AnswerEnded,
    AnswerGrew,
    AnswerResumed,
    AnswersEnded,
    AskEngine,
    Effect,
    FindModel,
    GivenBack,
    MessageRemoved,
    Noted,
    NotSaved,
    PathOpened,
    QuestionAdded,
    StopEngine,
)
from assistant.talk.talk import Talk
from assistant.talk.tool_set import ToolSet
from models.errors import StorageError
from tui.chat.conversation.answer import Answer, below
from tui.chat.conversation.turn import Turn
from tui.chat.draft_notes import DraftNotes
from tui.chat.engine_display import EngineDisplay
from tui.chat.layout import ChatLayout
from tui.chat.tools.call_display import CallDisplay
from tui.chat.unsent_text import QuestionEditing, UnsentText
from tui.safe import safe
from tui.settings.settings import Settings

if TYPE_CHECKING:
    from assistant.store import Record

ALTERNATIVES = 5
"""Alternatives of each row to report with each token, for the inspector."""


class ModelWanted(Message):
    """A prompt waits, and no model is loaded or being loaded."""


class ModelsLoaded(Message):
    """Questions can be answered from now on."""


class ChatController:
    """Stand between the parts of the chat, its talk and the engine.

    Args:
        submit: has the engine do a job.
    """

    def __init__(self, parts: ChatLayout, settings: Settings, submit: Submit) -> None:
        self.parts, self._submit = parts, submit
        self.settings = settings
        self.mode: Mode = settings.mode
        """How answers are decoded."""
        self.form: AnswerForm | None = None
        """What answers have to look like."""
        tools = ToolSet(settings.tools, settings.offline)
        self.talk = Talk(self.perform, None, tools, self._asks, lambda: self.settings.system or "")
        """The conversation."""
        self.unsent = UnsentText(parts.prompt, self.talk)
        """What is in the prompt, here and elsewhere."""
        self.editing = QuestionEditing(parts.prompt, self.talk, self.unsent)
        """The earlier question that is being changed."""
        self.calls = CallDisplay(parts, self.talk)
        """The calls that answers ask for."""
        self.show_beside: Callable[[Effect], None] = lambda effect: None
        """Shows answers that are not in the conversation yet: several to one question."""
        self.ready: Ready | None = None
        self._display = EngineDisplay(parts)
        self._draft_notes = DraftNotes()
        self._streaming: dict[int, Answer] = {}  # answers under way that are on the screen
        self._stream: EventStream | None = None  # of what the engine does for the talk
        self._leaves = False  # whether the program ends, and nothing is shown any more

    @property
    def busy(self) -> bool:
        """Whether the engine or a tool is at work."""
        return self.talk.busy

    @property
    def wants_model(self) -> bool:
        """Whether a prompt waits that no model will ever answer."""
        return self.talk.waits and not self.talk.expects_model and self.ready is None

    def _asks(self) -> Request:
        return replace(
            self.settings.request(),
            messages=(),
            mode=self.mode,
            form=self.form,
            alternatives=ALTERNATIVES,
        )

    # The models

    def prepare(self) -> None:
        """Note that models are being looked for."""
        self.ready = None
        self.talk.expect_model()
        self._display.looking()

    def load(self, setup: Setup, no_draft: str | None) -> None:
        """Have models loaded instead of an answer; what waits is answered afterwards."""
        self._draft_notes.no_draft = no_draft
        self._cancel()
        self._submit(setup, self._loading)

    def no_model(self, reason: str) -> None:
        """Say why nothing can be answered, and give back the waiting prompt."""
        self.ready = None
        self._display.no_model()
        self.talk.no_model(reason)

    def idle_target(self, why: str = "") -> ModelInfo | None:
        """Return the target when nothing is to be answered; None after saying what is."""
        if self.ready is not None and not self.busy and not self.talk.waits:
            return self.ready.target
        what = "An answer is under way; Esc stops it" if self.ready else "No models are loaded yet"
        self.parts.notify(f"{what}.{why}", timeout=4, markup=False)
        return None

    def count(self, count: Count) -> None:
        """Have the tokens of a text counted, once a model can."""
        if self.ready is not None:
            self._submit(count, self._counted)

    def steer(self, mode: Mode) -> None:
        """Decode so from now on; the answer under way has it from its next round on."""
        self.mode = mode
        if self._stream is not None:
            self._stream.steer(mode, self.settings.lookahead, self.settings.sampling)

    # What the user does

    def say(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Answer what the user says now, or as soon as that is possible."""
        if self.talk.waits:
            text = "One message is waiting already; this one stays here."
            self.parts.notify(text, timeout=3, markup=False)
        else:
            self.talk.say(text, attachments, self.editing.sent())
            self._sent()

    def keep(self, text: str, attachments: Sequence[Attachment]) -> None:
        """Keep and show a question, which is in the prompt no longer."""
        self.talk.add_question(text, attachments, self.editing.sent())
        self._sent()

    def _sent(self) -> None:
        self.parts.prompt.take()
        self.unsent.sent()

    def open(self, conversation: int | None, to_prompt: bool = False) -> None:
        """Show a conversation; an answer under way in another one is stopped and kept."""
        self.go(lambda: self.talk.open(conversation))
        if to_prompt:
            self.parts.prompt.focus()

    def go(self, there: Callable[[], None]) -> None:
        """Show another conversation, with what is unsent in it; or say why that cannot be."""
        self.stop()
        self.editing.leave()
        try:
            there()
        except StorageError as error:
            self.parts.notify(safe(str(error)), severity="error", timeout=10, markup=False)
        self.follow()

    def follow(self) -> None:
        """Show that another conversation is on the screen."""
        self.unsent.go()
        self.list_chats()
        self._display.clear()
        self.parts.refresh_bindings()

    def stop(self) -> None:
        """End the answer or the call, keep what there is, and take back a waiting prompt."""
        self.talk.stop()
        self.parts.refresh_bindings()

    def leave(self) -> None:
        """Keep what is under way: the program ends."""
        self._leaves = True
        self.talk.leave()

    def list_chats(self) -> None:
        """List the conversations again, from the current store."""
        path, chats = self.talk.path, self.parts.chats
        if path.keeping.store is not None:
            chats.use(path.keeping.store)
        chats.current = path.conversation
        chats.refresh_list()

    # What the talk says

    def perform(self, effect: Effect) -> None:
        """Show or do what the talk says."""
        view = self.parts.conversation
        match effect:
            case _ if self._leaves:
                pass
            case AskEngine(request):
                self._stream = self._submit(request, self.hear)
                self.parts.refresh_bindings()
            case StopEngine():
                self._cancel()
            case FindModel():
                self.parts.app.post_message(ModelWanted())
            case PathOpened(path):
                self._open(path)
            case QuestionAdded(record):
                view.trace = self.talk.path.keeping.trace
                view.ask(record.content, record, record.attachments).add_class("waiting")
                self.list_chats()
            case AnswerBegun(record) if self.talk.path.shows(record):
                self._begin(record)
            case AnswerResumed(record):
                self._streaming[record.id] = self._answer_of(record)
                self._streaming[record.id].resume()
            case AnswerGrew(record, step, event) if record.id in self._streaming:
                self._streaming[record.id].add(step)
                self._streaming[record.id].call(event.calls)
                self._streaming[record.id].tell(event.stats)
                self._display.decoded(event)
            case AnswerEnded(record) if record.id in self._streaming:
                answer = self._streaming.pop(record.id)
                answer.record = record
                answer.finish(below(record), record.state)
            case AnswersEnded():
                self._display.over()
                self.list_chats()
                self.show_beside(effect)
            case AnswerBegun() | AnswerGrew() | AnswerEnded():
                self.show_beside(effect)
            case MessageRemoved(record):
                self._streaming.pop(record.id, None)
                for turn in view.turns:
                    if turn.record is not None and turn.record.id == record.id:
                        turn.remove()
            case GivenBack(text, attachments):
                if not self.parts.prompt.give_back(text, attachments):
                    hint = "Up-arrow in an empty prompt brings back the unanswered one."
                    self.parts.notify(hint, markup=False)
            case Noted(text, severity, before):
                view.note(text, severity, self._streaming.get(before.id) if before else None)
                if severity == "error" and not self.parts.screen.is_active:
                    self.parts.notify(safe(text), severity="error", markup=False)
            case NotSaved(reason):
                self.parts.banner.not_saved(StorageError(reason))
            case _:
                self.calls.perform(effect)

    def _begin(self, record: Record) -> None:
        view = self.parts.conversation
        view.query(".waiting").remove_class("waiting")
        followed = isinstance(self.parts.screen.focused, Turn)  # what is replaced
        self._streaming[record.id] = view.begin(record.model, record)
        if followed:
            view.focus_last()

    def _open(self, path: Sequence[Record]) -> None:
        view, keeping = self.parts.conversation, self.talk.path.keeping
        # What streams is shown as it streamed: the store has an older state of it.
        streaming = [(record, self.talk.so_far(record)) for record in path]
        view.open(
            [replace(r, content="", thought="") if so_far else r for r, so_far in streaming],
            keeping.trace,
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
        turns = reversed(self.parts.conversation.turns)  # older ones may not be gone yet
        return next(
            t for t in turns if isinstance(t, Answer) and t.record and t.record.id == record.id
        )

    # What the engine says

    def hear(self, event: Event | None) -> None:
        """Take what the engine says about an answer."""
        if not self.parts.is_attached:  # the program has ended meanwhile
            return
        match event:
            case None:
                self._stream = None
                self.talk.job_over()
                self.parts.refresh_bindings()
                return
            case Loading():
                self._display.loading(event)
            case Ready():
                self._be_ready(event)
            case Prefilled():
                self._display.reading(event)
            case Finished():
                if doubt := self._draft_notes.doubt(event.stats):
                    self.talk.note(doubt)
        self.talk.hear(event)

    def _loading(self, event: Event | None) -> None:
        match event:
            case Loading():
                self._display.loading(event)
            case Ready():
                self._be_ready(event)
            case Noticed(text):
                self.talk.note(text)
            case Failed(message):
                if not self.parts.screen.is_active:  # where a note in the conversation is not seen
                    self.parts.notify(safe(message), severity="error", markup=False)
                self.no_model(message)

    def _counted(self, event: Event | None) -> None:
        if isinstance(event, Counted):
            self.parts.prompt.attached.counted(event.label, event.tokens)

    def _be_ready(self, ready: Ready) -> None:
        self.ready = ready
        self._display.ready(ready, self.settings)
        if refused := self._draft_notes.ready(ready, self.settings):
            self.parts.conversation.note(refused, "warning")
        self.parts.post_message(ModelsLoaded())
        self.talk.ready(ready.target)
        self.parts.refresh_bindings()

    def _cancel(self) -> None:
        if self._stream is not None:
            self._stream.cancel()
