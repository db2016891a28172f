"""The chat: what the user says is answered, what the engine says is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.message import Message

from assistant.events import (
    Counted,
    Decoded,
    Event,
    Failed,
    Finished,
    Loading,
    ModelInfo,
    Noticed,
    Prefilled,
    Prepared,
    Ready,
    Stop,
)
from assistant.request import Count, Mode, Request, Setup
from assistant.service import Hear, Submit, Ticket
from assistant.store.values import Attachment
from models.errors import StorageError
from tui.chat.conversation.turn import Turn
from tui.chat.conversation.user_turn import UserTurn
from tui.chat.conversation_state import ConversationState
from tui.chat.dialogue import Dialogue
from tui.chat.draft_notes import DraftNotes
from tui.chat.engine_display import EngineDisplay
from tui.chat.layout import ChatLayout
from tui.chat.tools.controller import ToolCalls
from tui.chat.tools.tool_set import ToolSet
from tui.chat.unsent_text import QuestionEditing, UnsentText
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store import Record

Begin = Callable[[ModelInfo, Mode], Request]
"""Begins an answer; called when its turn comes, it returns what the engine needs."""


class ModelWanted(Message):
    """A prompt waits, and no model is loaded or being loaded."""


class ModelsLoaded(Message):
    """Questions can be answered from now on."""


class ChatController:
    """Keep the parts of a chat in step with its conversation and the engine.

    Args:
        submit: has the engine do a job.
    """

    def __init__(
        self,
        parts: ChatLayout,
        state: ConversationState,
        dialogue: Dialogue,
        unsent: UnsentText,
        editing: QuestionEditing,
        tools: ToolSet,
        submit: Submit,
    ) -> None:
        self._parts, self._state, self._dialogue = parts, state, dialogue
        self._unsent, self._editing, self._submit = unsent, editing, submit
        self._display = EngineDisplay(parts)
        self.mode: Mode = state.settings.mode
        """How answers are decoded."""
        self.ready: Ready | None = None
        self.preparing = True
        """Whether models are being looked for or loaded."""
        self._ticket: Ticket | None = None  # of the answer under way
        self._wish: Begin | None = None  # to be answered when that is possible
        self._waiting: UserTurn | None = None  # the question of that, if it was just sent
        self._drafts = DraftNotes(state)
        self.tools = ToolCalls(parts, state, tools, self._proceed, self.answer)
        """The calls that answers ask for."""

    @property
    def busy(self) -> bool:
        """Whether an answer is under way, also one that nobody waits for, or a call."""
        return self._ticket is not None or self.tools.running

    @property
    def waits(self) -> bool:
        """Whether something is to be answered as soon as that is possible."""
        return self._wish is not None

    @property
    def wants_model(self) -> bool:
        """Whether a prompt waits that no model will ever answer."""
        return self.waits and not self.preparing and self.ready is None

    def prepare(self) -> None:
        """Note that models are being looked for."""
        self.ready, self.preparing = None, True
        self._display.looking()

    def load(self, setup: Setup, no_draft: str | None) -> None:
        """Have models loaded instead of an answer; what waits is answered afterwards."""
        self._drafts.no_draft = no_draft
        self.cancel()
        self._submit(setup, self._loading)

    def no_model(self, reason: str) -> None:
        """Say why nothing can be answered, and give back the waiting prompt."""
        self.ready, self.preparing = None, False
        self._display.no_model()
        self._state.view.note(reason, "error")
        self.take_back()

    def ask(self, request: Request, take: Hear) -> None:
        """Have the engine answer; `take` hears of it, and has `show` show what it does not."""
        self.tools.live = False
        self._ticket = self._submit(request, take)

    def count(self, count: Count) -> None:
        """Have the tokens of a text counted, once a model can."""
        if self.ready is not None:
            self._submit(count, self._counted)

    def steer(self, mode: Mode) -> None:
        """Decode so from now on; the answer under way has it from its next round on."""
        self.mode, settings = mode, self._state.settings
        if self._ticket is not None:
            self._ticket.steer(mode, settings.lookahead, settings.sampling)

    def cancel(self) -> None:
        """End the answer under way."""
        if self._ticket is not None:
            self._ticket.cancel()

    def show(self, event: Event | None) -> None:
        """Show what the engine says of an answer."""
        if not self._parts.is_attached:  # the program has ended meanwhile
            return
        match event:
            case Decoded():
                if (reply := self._state.reply) is not None:
                    reply.add(event)
                    if self._state.shows(reply.record):
                        self._display.decoded(event)
            case Loading():
                self._display.loading(event)
            case Ready():
                self._be_ready(event)
            case Prepared(dropped_turns=dropped) if dropped:
                self._state.note(f"Left out, to fit the context: the oldest turns ({dropped}).")
            case Noticed(text):
                self._state.note(text)
            case Prefilled():
                self._display.reading(event)
            case Finished():
                self._drafts.doubt(event.stats)
                self.tools.live = event.stop is not Stop.CANCELLED
                if not event.complete and event.stop is not Stop.CANCELLED:
                    self._state.note("The answer ended before it had its form.")
                self._end(self._dialogue.finished(event))
            case Failed():
                self._tell(event)
                self.take_back()  # it would hang on an answer that may fail
                self._end(self._dialogue.failed(event))
            case None:
                self._ticket = None
                self._proceed()

    def say(self, text: str, attachments: Sequence[Attachment]) -> None:
        """Answer what the user says now, or as soon as that is possible."""
        if self.waits:
            self._parts.notify("One message is waiting already; this one stays here.", timeout=3)
            return
        self._waiting = self.keep(text, attachments)
        self._waiting.add_class("waiting")
        self.answer()

    def keep(self, text: str, attachments: Sequence[Attachment]) -> UserTurn:
        """Keep and show a question, which is in the prompt no longer."""
        edited = self._editing.sent()
        if edited is None:
            self.tools.refuse()
        turn = self._dialogue.ask(text, attachments, edited)
        self.list_chats()
        self._parts.prompt.take()
        self._unsent.sent()
        return turn

    def answer(self) -> None:
        """Have the last question answered."""

        def begin(model: ModelInfo, mode: Mode) -> Request:
            turn, self._waiting = self._waiting, None
            if turn is not None:
                turn.remove_class("waiting")
            asked = self._dialogue.answer(model, mode)
            if isinstance(self._parts.screen.focused, Turn):  # it followed what is replaced
                self._state.view.focus_last()
            return asked

        self._have(begin)

    def again(self, answer: Record) -> None:
        """Have another answer to the question of this one, or a call run again."""
        self._state.cut_before(answer)
        if answer.role == "tool":  # it is asked about once more
            self.tools.look()
        else:
            self.answer()

    def go_on(self, answer: Record) -> None:
        """Continue with an answer that was cut, or after what a tool returned."""
        if self._state.leaf is None or answer.id != self._state.leaf.id:
            self._parts.notify("Only the last answer can be continued; f copies up to here.")
        elif self._state.shared:  # two would write over each other
            self._parts.notify("It is open in another specchat, too; f copies up to here.")
        elif answer.role == "tool":
            self.tools.grant()
        else:
            self._have(self._dialogue.go_on)

    def idle_target(self, why: str = "") -> ModelInfo | None:
        """Return the target when nothing is to be answered; None after saying what is."""
        if self.ready is not None and not self.busy and not self.waits:
            return self.ready.target
        what = "An answer is under way; Esc stops it" if self.ready else "No models are loaded yet"
        self._parts.notify(f"{what}.{why}", timeout=4, markup=False)
        return None

    def open(self, conversation: int | None, to_prompt: bool = False) -> None:
        """Show a conversation; an answer under way in another one is stopped and kept."""
        self.stop()
        self._editing.leave()
        try:
            self._state.open(conversation)
        except StorageError as error:
            self._parts.notify(safe(str(error)), severity="error", timeout=10, markup=False)
        self.follow()
        if to_prompt:
            self._parts.prompt.focus()

    def follow(self) -> None:
        """Show that another conversation is on the screen."""
        self._unsent.go()
        self.list_chats()
        self._display.clear()
        self._parts.refresh_bindings()

    def list_chats(self) -> None:
        """List the conversations again, from the current store."""
        chats = self._parts.chats
        chats.use(self._state.store)
        chats.current = self._state.conversation
        chats.refresh_list()

    def stop(self) -> None:
        """End the answer or the call, keep what there is, and take back a waiting prompt."""
        self.take_back()
        self.cancel()
        self.tools.stop()
        self._parts.refresh_bindings()

    def take_back(self) -> None:
        """Give back the waiting prompt."""
        self._wish = None
        turn, self._waiting = self._waiting, None
        if turn is not None:
            self._dialogue.take_back(turn)
            self._give_back(turn.text, turn.record.attachments if turn.record else ())

    def _give_back(self, text: str, attachments: tuple[Attachment, ...]) -> None:
        if not self._parts.prompt.give_back(text, attachments):
            self._parts.notify("Up-arrow in an empty prompt brings back the unanswered one.")

    def _have(self, begin: Begin) -> None:
        self._wish = begin
        self._go_on()

    def _proceed(self) -> None:
        """Do what waits, or else what follows from the last answer."""
        self._go_on()
        if not self.waits and not self.busy:
            self.tools.go_on()

    def _go_on(self) -> None:
        """Do what waits, or ask for a model if nothing else helps; offer the matching keys."""
        begin, ready = self._wish, self.ready
        if begin is not None and ready is not None and not self.busy and self.tools.known():
            self._wish = None
            self.ask(begin(ready.target, self.mode), self.show)
        if self.wants_model:
            self._parts.app.post_message(ModelWanted())  # going up, it would end at its sender
        self._parts.refresh_bindings()

    def _loading(self, event: Event | None) -> None:
        if isinstance(event, Failed):
            self._tell(event)
            self.no_model(event.message)
        elif event is not None:
            self.show(event)

    def _counted(self, event: Event | None) -> None:
        if isinstance(event, Counted):
            self._parts.prompt.attached.counted(event.label, event.tokens)

    def _be_ready(self, ready: Ready) -> None:
        self._display.ready(ready, self._state.settings)
        self._drafts.ready(ready)
        self.ready, self.preparing = ready, False
        self._parts.post_message(ModelsLoaded())
        self._go_on()

    def _tell(self, event: Failed) -> None:
        if not self._parts.screen.is_active:  # where the note in the conversation is not seen
            self._parts.notify(safe(event.message), severity="error", markup=False)

    def _end(self, unanswered: Record | None) -> None:
        self._display.over()
        if unanswered is not None:
            self._give_back(unanswered.content, unanswered.attachments)
        self.list_chats()
