"""The chat: its widgets, its keys, and what they do."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Key, Paste, Resize
from textual.widget import Widget

from assistant.events import Event, TokenCount
from assistant.request import CountTokens
from assistant.settings.settings import Settings
from models.errors import StorageError
from tui.app.program import Program
from tui.app.textual_private import meaning_of
from tui.chat.autosave import Autosave
from tui.chat.chat_controller import ChatController
from tui.chat.chat_list import ChatList
from tui.chat.chat_rows import ChatRows
from tui.chat.conversation.conversation import Conversation
from tui.chat.conversation.tool_turns import ApprovalTurn
from tui.chat.conversation.turn import Turn, TurnAction
from tui.chat.conversation.welcome import SuggestionLine
from tui.chat.panel import FiguresPanel
from tui.chat.prompt.editor import Editor
from tui.chat.prompt.prompt import Prompt
from tui.chat.prompt.prompt_attachments import PromptAttachments
from tui.chat.session_view import ROOMY, ChatWidgets
from tui.chat.turn_actions import TurnActions
from tui.labels import MODES, ON_MACOS
from tui.safe import safe
from tui.widgets.keyline import KeyLine

RACE, MESSAGES = "The answer with and without guesses, side by side", "To the messages"
NARROW = 80
"""Width in cells from which a conversation fits next to a side panel."""
BRIEF = 100
"""Width in cells below which the list closes once a conversation was chosen."""


class ChatScreen(ChatWidgets):
    """Take prompts, show answers.

    The list of conversations and the figures are beside the conversation, or cover it on a narrow
    screen. On a screen of a few lines only the conversation and the prompt are shown.
    """

    AUTO_FOCUS = "Editor"
    DEFAULT_CSS = """
    ChatScreen {
        overflow: hidden;

        & > #body { layers: default above; }
        &.-narrow > #body > ChatList, &.-narrow > #body > FiguresPanel {
            layer: above; min-width: 100%; max-width: 100%;
        }
        &.-low PromptQueue, &.-flat PromptQueue { max-height: 1; }
        &.-low Editor, &.-flat Editor { max-height: 3; }
        &.-low Banner, &.-flat Banner, &.-flat Status { display: none; }
        &.-flat Prompt, &.-flat Prompt:focus-within { border: none; }
    }
    """
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
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (7, "-low"), (11, "-high")]  # noqa: RUF012

    def __init__(self, settings: Settings, program: Program) -> None:
        super().__init__()
        self.conversation.tools = bool(settings.tools.servers)  # they may go online
        self.controller = ChatController(self, settings, program)
        self.session = self.controller.session
        self.turns = TurnActions(self.controller)
        self.autosave = Autosave(self.controller)
        self._program = program
        self._deleted: int | None = None  # the conversation that was open when it was deleted

    def on_mount(self) -> None:
        """Apply the settings, and save regularly from now on."""
        self.show_panel_state()
        self.controller.apply(self.controller.settings)
        self.autosave.run_regularly()
        self.watch(self.app, "app_focus", self._show_written_elsewhere, init=False)

    def compose(self) -> ComposeResult:
        """Lay out the widgets from top to bottom, and three of them side by side."""
        yield self.banner
        yield Horizontal(self.chats, self.conversation, self.panel, id="body")
        yield self.status
        yield self.prompt
        yield KeyLine()

    def on_resize(self, event: Resize) -> None:
        """On a narrow screen, close the side panels that do not have the focus."""
        narrow = event.size.width < NARROW
        if narrow and not self.has_class("-narrow"):
            self.panel.wanted = False
            if not self.chats.has_focus_within:
                self.chats.close()
        self.set_class(narrow, "-narrow")

    @property
    def covered(self) -> bool:
        """Whether a side panel covers the conversation."""
        return self.has_class("-narrow") and (self.chats.display or self.panel.display)

    def shows(self, widget: Widget) -> bool:
        """Return whether a widget is visible, or can be scrolled into view."""
        parents = widget.ancestors_with_self
        covered = self.covered and self.conversation in parents
        return not covered and all(parent.display for parent in parents)

    def set_focus(
        self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False
    ) -> None:
        """Focus a visible widget, else the prompt, while the terminal itself has the focus."""
        if self.app.app_focus and (widget is None or not self.shows(widget)):
            widget = self.prompt.editor
        super().set_focus(widget, scroll_visible, from_app_focus)

    def route_typing(self, event: Key | Paste) -> None:
        """Focus the prompt when text is typed on a turn that has no such key."""
        turn = self.focused
        if not isinstance(turn, Turn):
            return
        if isinstance(event, Paste) or (turn.autofocused and event.is_printable):
            self.set_focus(self.prompt.editor)
        elif event.key not in self.active_bindings:
            if meaning := meaning_of(self, event.key):
                meaning = f"{meaning[:1].lower()}{meaning[1:]}"
                self.notify(f"Not on this message: {meaning}.", timeout=3, markup=False)
            elif event.is_printable:
                self.set_focus(self.prompt.editor)

    @on(FiguresPanel.Toggled)
    def show_panel_state(self) -> None:
        """Have the status line leave out what the open panel shows."""
        self.status.show(is_beside_panel=self.panel.display)
        self.refresh_bindings()  # Esc closes what covers the conversation

    def uncover(self) -> None:
        """Close the side panel that covers the conversation, if one does."""
        if self.covered:
            self.panel.wanted = False
            self.chats.close()

    # Messages of the widgets

    @on(Prompt.Submitted)
    def submit(self, message: Prompt.Submitted) -> None:
        """Have the prompt answered."""
        self.controller.submit(message.text, message.attachments)

    @on(Prompt.Edited)
    def edited(self) -> None:
        """Dim the suggestions while something is typed, and prefill it."""
        self.conversation.set_class(bool(self.prompt.text), "-typing")
        self.session.read_folders(self.prompt.attachments)
        self.controller.prefill_soon()

    @on(Editor.Unused)
    def suggest(self, message: Editor.Unused) -> None:
        """Choose among the suggestions of an empty conversation."""
        self.conversation.suggest(message.key)

    @on(SuggestionLine.Taken)
    def use_suggestion(self, message: SuggestionLine.Taken) -> None:
        """Put a suggestion into the empty prompt, and send it or start the race."""
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
        """Have the tokens of a text counted, if a model is loaded."""
        if self.controller.ready is not None:
            self._program.submit(CountTokens(message.label, message.text), self._show_count)

    def _show_count(self, event: Event) -> None:
        if isinstance(event, TokenCount):
            self.prompt.attached.set_tokens(event.label, event.tokens)

    @on(TurnAction)
    def act(self, message: TurnAction) -> None:
        """Carry out an action on a turn."""
        self.turns.do(message.turn, message.verb)

    @on(ApprovalTurn.Decided)
    def resolve_approval(self, message: ApprovalTurn.Decided) -> None:
        """Run or refuse a tool call, as the user decided."""
        if message.turn is not self.controller.view.approval:
            return
        self.prompt.focus()
        try:
            self.session.tool_loop.resolve_approval(message.decision)
        except StorageError as error:
            self.notify(safe(str(error)), severity="warning", timeout=8, markup=False)

    @on(ChatList.Deleted)
    def close_deleted(self, message: ChatList.Deleted) -> None:
        """Close a conversation that was deleted; open it again when it is restored."""
        shown = self.session.branch.conversation
        if message.is_back and message.id == self._deleted and shown is None:
            self.open(message.id)
        elif not message.is_back and message.id == shown:
            self._deleted = message.id
            self.open(None)

    @on(ChatRows.Chosen)
    def open_chosen(self, message: ChatRows.Chosen) -> None:
        """Open the conversation that was chosen, at the message that the search found."""
        if self.size.width < BRIEF:
            self.chats.close()
        self.uncover()
        self.open(message.id)
        if message.message is None or not self._go_to(message.message, message.words):
            self.prompt.focus()

    def open(self, conversation: int | None) -> None:
        """Show a conversation; an answer under way in another one is stopped and saved."""
        self.controller.switch(lambda: self.session.open(conversation))

    def _show_written_elsewhere(self, focused: bool) -> None:
        """When the terminal gets the focus, show what another program has answered meanwhile.

        A reader further up stays there, and sees it at the next focus at the end.
        """
        branch, may_move = self.session.branch, self.session.idle and self.conversation.follows
        if focused and may_move and any(r.state == "streaming" for r in branch.records):
            with suppress(StorageError):
                branch.reopen()

    def _go_to(self, message: int, words: Sequence[str]) -> bool:
        """Go to words of a message on any branch of the conversation; return whether it exists."""
        branch = self.session.branch
        try:
            if message not in {record.id for record in branch.records}:
                branch.choose(message)
        except StorageError:  # it has been deleted meanwhile
            return False
        self.conversation.reader.find(message, words)
        return True

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Give Esc one meaning: stop, else cancel the edit, else go back; offer what has effect."""
        occupied = not self.session.idle
        edits = self.controller.unsent.question is not None
        if action == "stop":
            return occupied
        if action == "regenerate" and self.chats.has_focus_within:
            return False  # in the list its key renames
        if action in ("turns", "regenerate"):
            return bool(self.conversation.turns) and not (occupied and action == "regenerate")
        if action == "undo":
            return self.turns.can_undo
        if action == "leave":
            return not occupied and edits
        if action == "back":
            beside = self.covered or self.chats.display
            away = beside or self.focused is not self.prompt.editor
            return not occupied and not edits and away
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
        """Constrain answers to the JSON schema in a file, or lift the constraint."""
        self.prompt.toggle_constraint()

    def action_ghosts(self) -> None:
        """Show wrong guesses in every answer, or hide them."""
        settings = self.controller.settings
        self.controller.apply(replace(settings, ghosts=not settings.ghosts))
        text = "Wrong guesses are hidden." if settings.ghosts else "Wrong guesses are shown."
        self.notify(text, timeout=4, markup=False)

    def action_undo(self) -> None:
        """Bring the last deleted message back."""
        self.turns.undo()

    def action_race(self) -> None:
        """Race the prompt, or else the last question, with and without guesses."""
        models, prompt, hint = self.controller, self.prompt, ""
        if models.ready is None and self.session.requests.expects_model:
            models.when_ready = self.action_race
            hint = "The race starts once the models are loaded."
        elif models.ready is None or models.setup is None:
            hint = "A race needs a model; F5 lists them."
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
