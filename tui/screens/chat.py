"""The chat: a conversation between its list and its figures, a status line and a prompt."""

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Resize
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen
from textual.widgets import Footer

from assistant.request import Count, Mode, Request
from tui.chat.dialogue import Dialogue
from tui.chat.exchange import Exchange
from tui.chat.keeping import Keeping
from tui.chat.talk import Talk
from tui.chat.verbs import Verbs
from tui.clipboard import copy_and_say
from tui.safe import safe
from tui.settings import Settings
from tui.widgets.banner import Banner
from tui.widgets.chats.changes import Deleted, Restored
from tui.widgets.chats.chats import ChatList
from tui.widgets.conversation.answer import Answer
from tui.widgets.conversation.conversation import Conversation
from tui.widgets.conversation.turn import TurnAction
from tui.widgets.prompt.prompt import Prompt
from tui.widgets.speculation.panel import Speculation
from tui.widgets.status import Activity, Status

MODES: tuple[Mode, ...] = ("auto", "sps", "ars")
NARROW, ROOMY = 96, 120
"""Cells of the screen from which on the footer has room for the palette, and for more space."""
KEEP_EVERY = 1.0
"""Seconds of an answer that may be lost when the program is killed."""


class ChatScreen(Screen[None]):
    """Take prompts, show answers."""

    DEFAULT_CSS = """
    ChatScreen { layout: vertical; }
    ChatScreen #body { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "app.help", "Help", id="chat.help"),
        Binding("f2", "chats", "Chats", id="chat.chats", tooltip="List of conversations"),
        Binding("f3", "panel", "Figures", id="chat.panel", tooltip="Speculation at work"),
        Binding("f4", "race", "Race", id="chat.race", tooltip="Race ArS against SpS"),
        Binding(
            "ctrl+t", "toggle_mode", "ArS/SpS", id="chat.mode", tooltip="Switch auto, SpS and ArS"
        ),
        Binding("ctrl+n", "new", "New", id="chat.new", tooltip="New conversation"),
        Binding("escape", "stop", "Stop", id="chat.stop"),
        Binding("escape", "back", "Back", id="chat.back", tooltip="Back to the prompt"),
        Binding("f5,ctrl+o", "app.choose_model", "Models", id="chat.models"),
        Binding("f6", "app.settings", "Settings", id="chat.settings"),
        Binding("ctrl+r", "regenerate", "Another answer", id="chat.regenerate", show=False),
        Binding("ctrl+y", "copy", "Copy the answer", id="chat.copy", show=False),
        Binding("ctrl+g", "ghosts", "Rejected drafts", id="chat.ghosts", show=False),
        Binding("ctrl+up", "turns", "To the messages", id="chat.turns", show=False),
        Binding("u,ctrl+z", "undo", "Undo a deletion", id="chat.undo", show=False),
        Binding("ctrl+home", "scroll('home')", "Oldest message", id="chat.oldest", show=False),
        Binding("ctrl+end", "scroll('end')", "Newest message", id="chat.newest", show=False),
    ]

    mode: reactive[Mode] = reactive[Mode]("auto", init=False)
    """How answers are decoded; a change reaches the answer under way at its next round."""

    class ModelWanted(Message):
        """A prompt waits, and no model is loaded or being loaded."""

    class RaceWanted(Message):
        """The person wants to see a prompt race."""

        def __init__(self, request: Request) -> None:
            super().__init__()
            self.request = request

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.set_reactive(ChatScreen.mode, settings.mode)
        self.prompt, self.status, self.banner = Prompt(), Status(settings.mode), Banner()
        self.conversation, self.panel, self.chats = Conversation(), Speculation(), ChatList()
        self.exchange = Exchange()
        self.keeping = Keeping(self)
        self.dialogue = Dialogue(self.conversation, settings, self.keeping.lose)
        self.talk, self.verbs = Talk(self), Verbs(self)
        self._deleted: int | None = None  # the conversation that was open when it was deleted

    def compose(self) -> ComposeResult:
        """Lay out the parts from top to bottom."""
        yield self.banner
        with Horizontal(id="body"):
            yield self.chats
            yield self.conversation
            yield self.panel
        yield self.status
        yield self.prompt
        yield Footer()

    def on_mount(self) -> None:
        """Let the person type from the first frame on."""
        self.prompt.focus()
        self._look()
        self.set_interval(KEEP_EVERY, self._keep)

    @work(thread=True, exclusive=True, group="keep")
    def _keep(self) -> None:
        self.keeping.keep()

    def on_resize(self, event: Resize) -> None:
        """Have room in the footer for as many keys as possible."""
        footer = self.query_one(Footer)
        footer.compact = event.size.width < ROOMY
        footer.show_command_palette = event.size.width >= NARROW

    def apply(self, settings: Settings) -> None:
        """Go on with other settings, from the next round or answer on."""
        self.settings = self.dialogue.settings = settings
        self.mode = settings.mode
        self._look()
        self.steer()

    def _look(self) -> None:
        """Show answers as the settings say."""
        self.conversation.view = "auto" if self.settings.view == "words" else "tokens"
        self.conversation.ghosts = self.settings.ghosts

    def prepare(self) -> None:
        """Say that models are being looked for."""
        self.exchange.prepare()
        self.status.show(loaded=False, activity=Activity("looking for the models", 0.0))

    def follow(self) -> None:
        """Show that the dialogue has gone to another conversation."""
        self.chats.use(self.dialogue.store)
        self.chats.current = self.dialogue.conversation
        self.chats.refresh_list()
        self.status.show(last=None)
        self.panel.clear()
        self.refresh_bindings()

    def steer(self) -> None:
        """Let the answer under way have the settings in force, from its next round on."""
        if self.exchange.busy and self.exchange.engine is not None:
            settings = self.settings
            self.exchange.engine.steer(self.mode, settings.lookahead, settings.sampling)

    @on(Prompt.Submitted)
    def say(self, message: Prompt.Submitted) -> None:
        """Have the prompt answered."""
        self.talk.say(message.text, message.attachments)

    @on(Prompt.CountWanted)
    def count(self, message: Prompt.CountWanted) -> None:
        """Have the tokens of a text counted."""
        if self.exchange.engine is not None:
            self.exchange.engine.count(Count(message.label, message.text))

    @on(TurnAction)
    def act(self, message: TurnAction) -> None:
        """Do to a turn what was asked for."""
        self.verbs.do(message.turn, message.verb)

    @on(ChatList.Left)
    @on(Conversation.Left)
    def back(self) -> None:
        """Go back to the prompt."""
        self.prompt.focus()

    @on(Deleted)
    def leave_deleted(self, message: Deleted) -> None:
        """Show a conversation no longer that is deleted."""
        if message.id == self.dialogue.conversation:
            self._deleted = message.id
            self.talk.open(None)

    @on(Restored)
    def return_to_restored(self, message: Restored) -> None:
        """Show a conversation again that was open when it was deleted."""
        if message.id == self._deleted and self.dialogue.conversation is None:
            self.talk.open(message.id)

    @on(ChatList.Chosen)
    def open_chosen(self, message: ChatList.Chosen) -> None:
        """Open the conversation that was chosen."""
        self.talk.open(message.id)
        self.prompt.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the key that stops while there is something to stop, else the way to the prompt."""
        if action == "stop":
            return self._occupied
        return not (self._occupied or self._typing) if action == "back" else True

    @property
    def _occupied(self) -> bool:
        return self.exchange.busy or self.exchange.waits or self.talk.editing is not None

    @property
    def _typing(self) -> bool:
        return self.focused is self.prompt.editor

    def action_stop(self) -> None:
        """End the answer, keep its text, and take a prompt back."""
        self.talk.stop()

    def action_back(self) -> None:
        """Go back to the prompt."""
        self.prompt.focus()

    def action_toggle_mode(self) -> None:
        """Go on with the next way of decoding."""
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]

    def watch_mode(self, mode: Mode) -> None:
        """Show the new mode and let the answer under way have it."""
        self.status.show(mode=mode)
        self.steer()
        if mode == "sps" and self.talk.no_draft:
            self.notify(safe(self.talk.no_draft), severity="warning", markup=False)

    def action_new(self) -> None:
        """Begin a new conversation; the old one stays in the list."""
        self.talk.open(None)
        self.prompt.focus()

    def action_chats(self) -> None:
        """Open the list of conversations, or close it."""
        self.chats.toggle()

    def action_panel(self) -> None:
        """Open the figures of speculation, or close them."""
        self.panel.toggle()

    def action_regenerate(self) -> None:
        """Have another answer to the last question."""
        leaf = self.dialogue.leaf
        if self.dialogue.busy or self.exchange.waits:
            self.notify("One moment: an answer is under way. Esc stops it.", timeout=3)
        elif leaf is None:
            self.notify("There is no question to answer yet.", timeout=3)
        elif leaf.role == "assistant":
            self.talk.again(leaf)
        else:
            self.talk.answer()  # a question that was never answered

    def action_copy(self) -> None:
        """Copy the last answer."""
        answers = [turn for turn in self.conversation.turns if isinstance(turn, Answer)]
        copy_and_say(self, answers[-1].text if answers else "")

    def action_ghosts(self) -> None:
        """Show rejected drafts in every answer, or hide them."""
        self.conversation.ghosts = shown = not self.conversation.ghosts
        answers = self.conversation.query(Answer)
        if not any(answer.view == "tokens" for answer in answers):  # nothing seems to happen
            text = "among the tokens of an answer; v on it shows those" if shown else "no longer"
            self.notify(f"Rejected drafts are shown {text}.", timeout=4, markup=False)

    def action_turns(self) -> None:
        """Go to the newest message, from where every message can be reached."""
        self.conversation.focus_last()

    def action_undo(self) -> None:
        """Bring the last deleted message back."""
        self.verbs.undo()

    def action_race(self) -> None:
        """Let the prompt, or else the last question, race."""
        ready = self.exchange.ready
        if ready is None or self.exchange.busy:
            what = "An answer is under way; Esc stops it" if ready else "No models are loaded yet"
            self.notify(f"{what}. A race needs them to itself.", timeout=4, markup=False)
            return
        if ready.draft is None:
            self.notify(f"SpS needs a draft. {safe(self.talk.no_draft or '')}", markup=False)
            return
        request = self.dialogue.race(self.prompt.text, self.prompt.attachments, ready.target)
        if request is None:
            self.notify("Type a prompt first; it races in two lanes, ArS and SpS.", timeout=4)
        else:
            self.post_message(self.RaceWanted(request))

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
