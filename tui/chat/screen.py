"""The chat: its keys and the messages of its widgets, and what they do."""

from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from assistant.settings.settings import Settings
from tui.app.program import Program
from tui.chat.autosave import Autosave
from tui.chat.chat_controller import ChatController
from tui.chat.chat_list import ChatList
from tui.chat.chat_rows import ChatRows
from tui.chat.conversation.conversation import Conversation
from tui.chat.conversation.turn import TurnAction
from tui.chat.conversation.welcome import SuggestionLine
from tui.chat.layout import ROOMY, ChatWidgets
from tui.chat.prompt.editor import Editor
from tui.chat.prompt.prompt import Prompt
from tui.chat.turn_actions import TurnActions
from tui.labels import MODES, ON_MACOS

RACE, MESSAGES = "The answer with and without guesses, side by side", "To the messages"
CLOSES_BELOW = 100
"""Width in cells below which the list closes once a conversation was chosen."""


class ChatScreen(ChatWidgets):
    """Take prompts, show answers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "app.help", "Help", id="chat.help"),
        Binding("f2", "chats", "Chats", id="chat.chats", tooltip="Conversations: search, resume"),
        Binding("f3", "panel", "Figures", id="chat.panel", tooltip="What guesses gain"),
        Binding("f4", "race", "Race", id="chat.race", tooltip=RACE),
        Binding("ctrl+t", "toggle_mode", "Guesses: mode auto, always, off", id="chat.mode"),
        Binding("ctrl+n", "new", "New", id="chat.new", tooltip="New conversation, clear screen"),
        Binding("escape", "stop", "Stop", id="chat.stop"),
        Binding("escape", "leave", "Cancel", id="chat.leave", tooltip="Cancel editing"),
        Binding("escape", "back", "Back", id="chat.back", tooltip="Back to the prompt"),
        Binding("f5,ctrl+o", "app.choose_model", "Models", id="chat.models"),
        Binding("f6", "app.settings", "Settings", id="chat.settings", tooltip="Config"),
        Binding("ctrl+r", "regenerate", "Another answer", id="chat.regenerate", tooltip="Retry"),
        Binding("f7", "form", "JSON answers on/off (schema file)", id="chat.form"),
        Binding("f9", "app.tools", "Tools", id="chat.tools", tooltip="Tools and MCP servers"),
        Binding("ctrl+g", "ghosts", "Wrong guesses", id="chat.ghosts"),
        Binding(
            "ctrl+up", "turns", "Messages", key_display=ON_MACOS, id="chat.turns", tooltip=MESSAGES
        ),
        Binding("ctrl+z,u", "undo", "Undo", id="chat.undo", tooltip="Undo a deletion or change"),
        Binding("ctrl+home", "scroll('home')", "Oldest message", id="chat.oldest"),
        Binding("ctrl+end", "scroll('end')", "Newest message", id="chat.newest"),
    ]

    def __init__(self, settings: Settings, program: Program) -> None:
        super().__init__()
        self.conversation.has_tools = bool(settings.tools.servers)  # they may go online
        self.controller = ChatController(self, settings, program)
        self.session = self.controller.session
        self.turns = TurnActions(self.controller)
        self.autosave = Autosave(self.controller)
        self._deleted: int | None = None  # the conversation that was open when it was deleted

    def on_mount(self) -> None:
        """Apply the settings, and save regularly from now on."""
        self.controller.apply(self.controller.settings)
        self.app.run_worker(self.autosave.run(), group="save")
        self.watch(self.app, "app_focus", self.autosave.show_written_elsewhere, init=False)

    # Messages of the widgets

    @on(Prompt.Submitted)
    def _submit(self, message: Prompt.Submitted) -> None:
        self.controller.submit(message.unsent)

    @on(Prompt.Edited)
    def _edited(self) -> None:
        """Dim the suggestions while something is typed, and prefill it."""
        self.conversation.set_class(bool(self.prompt.text), "-typing")
        self.session.read_folders(self.prompt.attachments)
        self.controller.prefill_soon()

    @on(Editor.Unused)
    def _suggest(self, message: Editor.Unused) -> None:
        self.conversation.suggest(message.key)

    @on(SuggestionLine.Taken)
    def _use_suggestion(self, message: SuggestionLine.Taken) -> None:
        suggestion = message.suggestion
        self.prompt.focus()
        if not self.prompt.restore_input(suggestion.text):
            self.notify("Send or delete what you have written first.", timeout=3)
        elif suggestion.then == "send":
            self.prompt.editor.send()
        elif suggestion.then == "race":
            self.action_race()

    @on(TurnAction)
    def _act(self, message: TurnAction) -> None:
        self.turns.perform(message.turn, message.verb)

    @on(ChatList.Deleted)
    def _close_deleted(self, message: ChatList.Deleted) -> None:
        """Close a conversation that was deleted; open it again when it is restored."""
        current = self.session.branch.conversation
        if message.is_back and message.id == self._deleted and current is None:
            self.open(message.id)
            self.chats.refresh_list(to=message.id)
        elif not message.is_back and message.id == current:
            self._deleted = message.id
            self.open(None)

    @on(ChatRows.Chosen)
    def _open_chosen(self, message: ChatRows.Chosen) -> None:
        if self.size.width < CLOSES_BELOW:
            self.chats.close()
        self.uncover()
        self.open(message.id)
        if message.message is None or not self.turns.find(message.message, message.words):
            self.prompt.focus()

    def open(self, conversation: int | None) -> None:
        """Show a conversation; an answer under way in another one is stopped and saved."""
        self.turns.attempt(lambda: self.controller.switch(lambda: self.session.open(conversation)))

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Give Esc one meaning: stop, else cancel the edit, else go back; offer what has effect."""
        occupied, edits = not self.session.idle, self.controller.unsent.question is not None
        match action:
            case "stop":
                return occupied
            case "leave":
                return not occupied and edits
            case "back":
                beside = self.covered or self.chats.display
                away = beside or self.focused is not self.prompt.editor
                return not occupied and not edits and away
            case "undo":
                return bool(self.turns.undoable)
            case "turns":
                return bool(self.conversation.turns)
            case "regenerate":  # in the list, its key renames
                may_ask = not occupied and not self.chats.has_focus_within
                return may_ask and bool(self.conversation.turns)
        return True

    @on(ChatList.Left)
    @on(Conversation.Left)
    def action_back(self) -> None:
        """Go back to the prompt and the conversation, and close the list."""
        self.uncover()
        self.chats.close()
        self.prompt.focus()

    def action_chats(self) -> None:
        """Open the list of conversations, or close it."""
        self.chats.toggle()

    def action_panel(self) -> None:
        """Open the figures, or close them."""
        if self.size.width < ROOMY:
            self.chats.close()
        self.panel.wanted = not self.panel.display
        if self.covered:
            self.set_focus(None)

    def action_turns(self) -> None:
        """Go to the last message in sight, from which keys reach every other."""
        self.uncover()
        self.conversation.focus_visible()

    def action_scroll(self, to: str) -> None:
        """Go to one end of the conversation, or a page up or down."""
        view = self.conversation
        ways = {"up": view.scroll_page_up, "down": view.scroll_page_down, "home": view.scroll_home}
        ways.get(to, view.anchor)()

    def action_stop(self) -> None:
        """Stop the answer and keep its text, or withdraw a prompt."""
        self.controller.stop()

    def action_leave(self) -> None:
        """Cancel the edit of a question."""
        self.controller.cancel_edit()

    def action_toggle_mode(self) -> None:
        """Switch to the next mode of decoding."""
        modes, settings = [*MODES], self.controller.settings
        following = (modes.index(settings.mode) + 1) % len(modes)
        self.controller.apply(replace(settings, mode=modes[following]))

    def action_new(self) -> None:
        """Begin a new conversation; the old one stays in the list."""
        self.open(None)
        self.prompt.focus()

    def action_regenerate(self) -> None:
        """Have another answer to the last question."""
        self.turns.answer_again()

    def action_form(self) -> None:
        """Constrain answers to the JSON schema in a file, or lift the constraint."""
        self.prompt.toggle_constraint()

    def action_ghosts(self) -> None:
        """Show wrong guesses in every answer, or hide them."""
        settings = self.controller.settings
        self.controller.apply(replace(settings, ghosts=not settings.ghosts))
        self.notify(f"Wrong guesses are {'hidden' if settings.ghosts else 'shown'}.", timeout=4)

    def action_undo(self) -> None:
        """Bring the last deleted message back."""
        self.turns.undo()

    def action_race(self) -> None:
        """Race the prompt, or else the last question, with and without guesses."""
        controller, prompt, hint = self.controller, self.prompt, ""
        if controller.ready is None and self.session.requests.expects_model:
            controller.when_ready = self.action_race
            hint = "The race starts once the models are loaded."
        elif controller.ready is None or controller.setup is None:
            hint = "A race needs a model; F5 lists them."
        elif not self.session.idle:
            hint = "An answer is under way; Esc stops it. A race needs the models for itself."
        elif (request := self.session.requests.race(prompt.text, prompt.attachments)) is None:
            hint = "Type a question first; it is answered with and without guesses."
        else:
            from tui.race.lanes import race_ars_and_sps
            from tui.race.screen import RaceScreen

            race = race_ars_and_sps(controller.setup, controller.settings, request)
            controller.program.push_screen(RaceScreen(race, controller.program.submit))
        if hint:
            self.notify(hint, timeout=4)
