"""The chat: its keys, and what they do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType

from assistant.request import CountTokens
from assistant.settings.settings import Settings
from models.errors import StorageError
from tui.app.clipboard import copy_and_say
from tui.chat.autosave import Autosave
from tui.chat.chat_controller import ChatController
from tui.chat.conversation.turn import TurnAction
from tui.chat.conversation.welcome import SuggestionLine
from tui.chat.layout import ChatLayout
from tui.chat.list.chat_list import ChatList
from tui.chat.list.chat_rows import ChatRows
from tui.chat.prompt.editor import Editor
from tui.chat.prompt.prompt import Prompt
from tui.chat.prompt.prompt_attachments import PromptAttachments
from tui.chat.tools.approval_turn import ApprovalTurn
from tui.chat.turn_actions import TurnActions
from tui.figures import MODES
from tui.safe import safe

if TYPE_CHECKING:
    from tui.app.program import Program

BRIEF = 100
"""Width in cells below which the list closes once a conversation was chosen."""


class ChatScreen(ChatLayout):
    """Take prompts, show answers.

    On a screen of a few lines, what is said and what is typed come before everything else.
    """

    AUTO_FOCUS = "Editor"
    DEFAULT_CSS = """
    ChatScreen {
        &.-low WaitingLine, &.-flat WaitingLine { max-height: 1; }
        &.-low Editor, &.-flat Editor { max-height: 3; }
        &.-low Banner, &.-flat Banner, &.-flat Status { display: none; }
        &.-flat Prompt, &.-flat Prompt:focus-within { border: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "app.help", "Help", id="chat.help"),
        Binding("f2", "chats", "Chats", id="chat.chats", tooltip="List of conversations"),
        Binding("f3", "panel", "Figures", id="chat.panel", tooltip="What guesses gain"),
        Binding("f4", "race", "Race: with and without guesses", id="chat.race", show=False),
        Binding("ctrl+t", "toggle_mode", "Guesses auto, always, off", id="chat.mode", show=False),
        Binding("ctrl+n", "new", "New", id="chat.new", tooltip="New conversation"),
        Binding("escape", "stop", "Stop", id="chat.stop"),
        Binding(
            "escape", "leave", "Leave", id="chat.leave", tooltip="Leave the question as it was"
        ),
        Binding("escape", "back", "Back", id="chat.back", tooltip="Back to the prompt"),
        Binding("f5,ctrl+o", "app.choose_model", "Models", id="chat.models"),
        Binding("f6", "app.settings", "Settings", id="chat.settings", show=False),
        Binding("ctrl+r", "regenerate", "Another answer", id="chat.regenerate", show=False),
        Binding("f7", "form", "JSON answers on/off (schema file)", id="chat.form", show=False),
        Binding("f9", "tools", "Tools", id="chat.tools", show=False),
        Binding("ctrl+y", "copy", "Copy the answer", id="chat.copy", show=False),
        Binding("ctrl+g", "ghosts", "Wrong guesses", id="chat.ghosts", show=False),
        Binding("ctrl+up", "turns", "To the messages", id="chat.turns", show=False),
        Binding("u,ctrl+z", "undo", "Undo a deletion", id="chat.undo", show=False),
        Binding("ctrl+home", "scroll('home')", "Oldest message", id="chat.oldest", show=False),
        Binding("ctrl+end", "scroll('end')", "Newest message", id="chat.newest", show=False),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (7, "-low"), (11, "-high")]  # noqa: RUF012

    def __init__(self, settings: Settings, program: Program) -> None:
        super().__init__()
        self.conversation.tools = bool(settings.tools)
        self.controller = ChatController(self, settings, program)
        self.session = self.controller.session
        self.turns = TurnActions(self.conversation, self.controller)
        self.autosave = Autosave(self.controller)
        self._program = program
        self._deleted: int | None = None  # the conversation that was open when it was deleted

    def on_mount(self) -> None:
        """Begin with the settings, and keep what is said from now on."""
        self.say_once()
        self.controller.apply(self.controller.settings)
        self.autosave.keep_now_and_then()

    # What the parts say

    @on(Prompt.Submitted)
    def say(self, message: Prompt.Submitted) -> None:
        """Have the prompt answered."""
        self.controller.say(message.text, message.attachments)

    @on(Prompt.Edited)
    def edited(self) -> None:
        """Show that Enter takes no suggestion while something is written; read what is written."""
        self.conversation.set_class(bool(self.prompt.text), "-typing")
        self.controller.models.read_folders()
        self.controller.models.read_ahead()

    @on(Editor.Spare)
    def suggest(self, message: Editor.Spare) -> None:
        """Choose among the suggestions of an empty conversation."""
        self.conversation.suggest(message.key)

    @on(SuggestionLine.Taken)
    def take(self, message: SuggestionLine.Taken) -> None:
        """Try what was suggested, unless something is being written."""
        suggestion = message.suggestion
        self.prompt.focus()
        if not self.prompt.restore_input(suggestion.text):
            self.notify("Send or delete what you have written first.", timeout=3)
        elif suggestion.then == "send":
            self.prompt.editor.send()
        elif suggestion.then == "race":
            self.action_race()

    @on(PromptAttachments.CountWanted)
    def count(self, message: PromptAttachments.CountWanted) -> None:
        """Have the tokens of a text counted."""
        self.controller.models.count(CountTokens(message.label, message.text))

    @on(TurnAction)
    def act(self, message: TurnAction) -> None:
        """Do to a turn what was asked for."""
        self.turns.do(message.turn, message.verb)

    @on(ApprovalTurn.Decided)
    def decide(self, message: ApprovalTurn.Decided) -> None:
        """Have a call run, or refused, as the user decided."""
        if message.turn is not self.controller.view.asked:
            return
        self.prompt.focus()
        try:
            self.session.tool_loop.resolve_approval(message.decision)
        except StorageError as error:
            self.notify(safe(str(error)), severity="warning", timeout=8, markup=False)

    @on(ChatList.Deleted)
    def leave_deleted(self, message: ChatList.Deleted) -> None:
        """Stop showing a conversation that was deleted; show it again once it is back."""
        shown = self.session.branch.conversation
        if message.is_back and message.id == self._deleted and shown is None:
            self.open(message.id)
        elif not message.is_back and message.id == shown:
            self._deleted = message.id
            self.open(None)

    @on(ChatRows.Chosen)
    def open_chosen(self, message: ChatRows.Chosen) -> None:
        """Open the conversation that was chosen, and go to what was searched for."""
        if self.size.width < BRIEF:
            self.chats.close()
        self.uncover()
        self.open(message.id)
        if message.message is None or not self._go_to(message.message):
            self.prompt.focus()

    def open(self, conversation: int | None) -> None:
        """Show a conversation; an answer under way in another one is stopped and kept."""
        self.controller.go(lambda: self.session.open(conversation))

    def _go_to(self, message: int) -> bool:
        """Go to a message of the conversation, on any branch; return whether it exists."""
        path = self.session.branch
        try:
            if message not in {record.id for record in path.records}:
                path.choose(message)
        except StorageError:  # it has been deleted meanwhile
            return False
        self.conversation.walk_to(message)
        return True

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the key that stops while there is something to stop, else the way to the prompt."""
        occupied = not self.session.idle
        edits = self.controller.unsent.question is not None
        if action == "stop":
            return occupied
        if action == "leave":
            return not occupied and edits
        if action == "back":
            away = self.covered or self.focused is not self.prompt.editor
            return not occupied and not edits and away
        return True

    def action_stop(self) -> None:
        """End the answer and keep its text, or take a prompt back."""
        self.controller.stop()

    def action_leave(self) -> None:
        """Leave the question that is edited as it was."""
        self.controller.leave_question()

    def action_toggle_mode(self) -> None:
        """Continue with the next way of decoding."""
        modes, settings = [*MODES], self.controller.settings
        following = modes[(modes.index(settings.mode) + 1) % len(modes)]
        self.controller.apply(replace(settings, mode=following))

    def action_new(self) -> None:
        """Begin a new conversation; the old one stays in the list."""
        self.open(None)
        self.prompt.focus()

    def action_regenerate(self) -> None:
        """Have another answer to the last question."""
        self.turns.answer_again()

    def action_form(self) -> None:
        """Have answers in the form of a file, or as they come again."""
        self.prompt.toggle_form()

    def action_tools(self) -> None:
        """List the tools and their servers."""
        tools = self.session.tool_loop.tools
        if not tools.is_available:
            text = "There are no tools. Name folders or servers in config.toml, under [tools]."
            self.notify(text, timeout=6, markup=False)
            return
        from tui.chat.tools.screen import ToolsScreen

        self.app.push_screen(ToolsScreen(self.session.tool_loop, self.session.branch.conversation))

    def action_copy(self) -> None:
        """Copy the last answer."""
        copy_and_say(self, self.conversation.last_answer())

    def action_ghosts(self) -> None:
        """Show wrong guesses in every answer, or hide them."""
        self.turns.toggle_ghosts()

    def action_undo(self) -> None:
        """Bring the last deleted message back."""
        self.turns.undo()

    def action_race(self) -> None:
        """Let the prompt, or else the last question, race in two lanes of the loaded pair."""
        models, prompt, hint = self.controller.models, self.prompt, ""
        if models.ready is None or models.setup is None:
            hint = "No models are loaded yet. A race needs the models for itself."
        elif not self.session.idle:
            hint = "An answer is under way; Esc stops it. A race needs the models for itself."
        elif (request := self.session.requests.race(prompt.text, prompt.attachments)) is None:
            hint = "Type a question first; it is answered with and without guesses."
        else:
            from tui.race.lanes import duel
            from tui.race.screen import RaceScreen

            race = duel(models.setup, self.controller.settings, request)
            self._program.push_screen(RaceScreen(race, self._program.submit))
        if hint:
            self.notify(hint, timeout=4, markup=False)
