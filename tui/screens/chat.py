"""The chat: a conversation, a status line and a prompt."""

from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen
from textual.widgets import Footer

from assistant.events import (
    Decoded,
    Event,
    Failed,
    Finished,
    Loading,
    Noticed,
    Prefilled,
    Prepared,
    Ready,
)
from assistant.request import Mode, Setup
from tui.dialogue import Dialogue
from tui.safe import safe
from tui.settings import Settings
from tui.widgets.banner import Banner
from tui.widgets.conversation import Conversation
from tui.widgets.prompt import Prompt
from tui.widgets.status import Activity, Status
from tui.widgets.turns import UserTurn

if TYPE_CHECKING:  # the engine brings llama.cpp along, which the first frame does not wait for
    from assistant.engine import Engine

PATIENCE = 3.0
"""Seconds within which a key that forgets must be pressed again."""
MODES: tuple[Mode, ...] = ("auto", "sps", "ars")


class ChatScreen(Screen[None]):
    """Take prompts, show answers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop", id="chat.stop"),
        Binding("ctrl+t", "toggle_mode", "ArS/SpS", id="chat.mode"),
        Binding("ctrl+n", "new", "New", id="chat.new"),
        Binding("ctrl+o", "app.choose_model", "Model", id="chat.model"),
        Binding("ctrl+home", "scroll('home')", "Oldest message", show=False),
        Binding("ctrl+end", "scroll('end')", "Newest message", show=False),
    ]

    mode: reactive[Mode] = reactive[Mode]("auto", init=False)
    """How answers are decoded; a change reaches the answer under way at its next round."""

    class ModelWanted(Message):
        """A prompt waits, and no model is loaded or being loaded."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.set_reactive(ChatScreen.mode, settings.mode)
        self.engine: Engine | None = None
        self.ready: Ready | None = None
        self.prompt, self.status, self.banner = Prompt(), Status(settings.mode), Banner()
        self.conversation = Conversation()
        self.dialogue = Dialogue(self.conversation, settings)
        self._preparing = True  # models are being looked for or loaded
        self._waiting: UserTurn | None = None  # sent, and to be answered when that is possible
        self._no_draft: str | None = None
        self._asked_for_new = -PATIENCE
        self._setup: Setup | None = None  # to be loaded when the answer under way has ended

    def compose(self) -> ComposeResult:
        """Lay out the parts from top to bottom."""
        yield self.banner
        yield self.conversation
        yield self.status
        yield self.prompt
        yield Footer()

    def on_mount(self) -> None:
        """Let the person type from the first frame on."""
        self.prompt.focus()

    def prepare(self) -> None:
        """Say that models are being looked for."""
        self.ready, self._preparing = None, True
        self.status.show(loaded=False, activity=Activity("looking for the models", 0.0))

    def load(self, engine: "Engine", setup: Setup, no_draft: str | None) -> None:
        """Have the models loaded; the prompt that waits is answered afterwards."""
        self.engine, self._no_draft, self._setup = engine, no_draft, setup
        if self.dialogue.busy:
            engine.cancel()
        self._go_on()

    def no_model(self, reason: str) -> None:
        """Say why nothing can be answered, and hand the prompt back that waits for it."""
        self._preparing = False
        self.status.show(loaded=False, activity=None)
        self.banner.show("no model")
        self.conversation.note(reason, "error")
        self.take_back()

    def show(self, event: Event) -> None:
        """Show what the engine says."""
        match event:
            case Loading(role, name, fraction):
                verb = "loading" if fraction < 1 else "preparing"
                self.status.show(activity=Activity(f"{verb} the {role} {name}", fraction))
            case Ready():
                self._be_ready(event)
            case Prepared():
                self.dialogue.prepared(event)
            case Noticed(text):
                self.conversation.note(text, "warning", before=self.dialogue.awaited)
            case Prefilled(role, done, total):
                self.status.show(activity=_reading(role, done, total))
            case Decoded() if self.dialogue.awaited is not None:
                self.dialogue.decoded(event)
                self.status.show(activity=None, last=event)
            case Finished():
                self._end(self.dialogue.finished(event))
            case Failed():
                self._fail(event)

    def _be_ready(self, ready: Ready) -> None:
        self.ready, self._preparing = ready, False
        self.dialogue.forget_tokens()
        self.banner.ready(ready)
        drafting = ready.draft is not None
        self.status.show(
            loaded=True, activity=None, drafting=drafting, n_ctx=ready.target.n_ctx, last=None
        )
        self._no_draft = None if drafting else self._no_draft or ready.no_draft
        if self._no_draft:
            self.conversation.note(f"{self._no_draft} Answers come without speculation.", "warning")
        self._go_on()

    def _fail(self, event: Failed) -> None:
        self.notify(safe(event.message), title="Failed", severity="error", markup=False)
        if self.dialogue.busy:
            self._end(self.dialogue.failed(event))
        else:
            self.no_model(event.message)

    def _end(self, unanswered: str | None) -> None:
        self.status.show(activity=None)
        if unanswered is not None:
            self._give_back(unanswered)
        self._go_on()

    @on(Prompt.Submitted)
    def take_prompt(self, message: Prompt.Submitted) -> None:
        """Answer the prompt now, or as soon as that is possible."""
        if not message.text.strip():
            return
        if self._waiting is not None:
            self.notify("One message waits already; this one stays in the prompt.", timeout=3)
            return
        self._waiting = self.conversation.ask(message.text)
        self._waiting.add_class("waiting")
        self.prompt.take()
        self._go_on()

    def _go_on(self) -> None:
        """Do what waits, if it can be done."""
        if self.engine is not None and not self.dialogue.busy:
            if self._setup is not None:
                self.engine.load(self._setup)
                self._setup = None
            elif self._waiting is not None and self.ready is not None:
                turn, self._waiting = self._waiting, None
                self.engine.reply(self.dialogue.ask(turn, self.mode))
        if self._waiting is not None and not self._preparing and self.ready is None:
            self.post_message(self.ModelWanted())
        self.refresh_bindings()

    def take_back(self) -> None:
        """Hand the prompt back that waits."""
        if self._waiting is not None:
            turn, self._waiting = self._waiting, None
            turn.remove()
            self._give_back(turn.text)

    def _give_back(self, text: str) -> None:
        if not self.prompt.give_back(text):
            self.notify("Up-arrow in an empty prompt brings the unanswered one back.")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Dim the key that stops when there is nothing to stop."""
        if action == "stop" and not self.dialogue.busy and self._waiting is None:
            return None
        return True

    def action_stop(self) -> None:
        """End the answer, keep its text, and take a prompt back that waits."""
        self.take_back()
        if self.dialogue.busy and self.engine is not None:
            self.engine.cancel()
        self.refresh_bindings()

    def action_toggle_mode(self) -> None:
        """Go on with the next way of decoding."""
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]

    def watch_mode(self, mode: Mode) -> None:
        """Show the new mode and let the answer under way have it."""
        self.status.show(mode=mode)
        if self.dialogue.busy and self.engine is not None:
            self.engine.steer(mode, self.settings.lookahead)
        if mode == "sps" and self._no_draft:
            self.notify(safe(self._no_draft), severity="warning", markup=False)

    def action_new(self) -> None:
        """Begin a new conversation; the old one is not kept, so the key must be pressed twice."""
        if self.dialogue.begun and monotonic() - self._asked_for_new > PATIENCE:
            self._asked_for_new = monotonic()
            self.notify("Press Ctrl+N again to forget this conversation.", timeout=PATIENCE)
            return
        self.action_stop()
        self.dialogue.forget()
        self.status.show(last=None)

    def action_page(self, direction: int) -> None:
        """Scroll the conversation by a page."""
        view = self.conversation
        view.scroll_page_up() if direction < 0 else view.scroll_page_down()

    def action_scroll(self, to: str) -> None:
        """Go to one end of the conversation."""
        if to == "home":
            self.conversation.scroll_home()
        else:
            self.conversation.anchor()


def _reading(role: str, done: int, total: int) -> Activity:
    who = "reading the prompt" if role == "target" else "the draft reads along"
    return Activity(f"{who}: {done:,} of {total:,} tokens", done / total if total else 1.0)
