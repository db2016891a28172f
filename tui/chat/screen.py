"""The chat: a conversation between its list and its figures, a status line and a prompt."""

from typing import ClassVar

from textual import on, work
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive

from assistant.request import Count, Mode, Request
from assistant.service import Submit
from tui.app.clipboard import copy_and_say
from tui.chat.autosave import Autosave
from tui.chat.challenge import challenge
from tui.chat.chat_controller import ChatController
from tui.chat.conversation.turn import TurnAction
from tui.chat.dialogue import Dialogue
from tui.chat.keys import KEYS
from tui.chat.layout import Parts
from tui.chat.list.chat_list import ChatList
from tui.chat.list.store_changes import Deleted, Restored
from tui.chat.prompt.prompt import Prompt
from tui.chat.question_editing import QuestionEditing
from tui.chat.several.controller import SeveralAnswers
from tui.chat.status import Activity
from tui.chat.turn_actions import TurnActions
from tui.chat.unsent_text import UnsentText
from tui.settings.settings import Settings

MODES: tuple[Mode, ...] = ("auto", "sps", "ars")
KEEP_EVERY = 1.0
"""Seconds of an answer that may be lost when the program is killed."""


class ChatScreen(Parts):
    """Take prompts, show answers."""

    BINDINGS: ClassVar[list[BindingType]] = KEYS

    mode: reactive[Mode] = reactive[Mode]("auto", init=False)
    """How answers are decoded; a change reaches the answer under way at its next round."""

    class ModelWanted(Message):
        """A prompt waits, and no model is loaded or being loaded."""

    class RaceWanted(Message):
        """The person wants to see a prompt race."""

        def __init__(self, request: Request) -> None:
            super().__init__()
            self.request = request

    def __init__(self, settings: Settings, submit: Submit) -> None:
        super().__init__(settings.mode)
        self.settings = settings
        self.set_reactive(ChatScreen.mode, settings.mode)
        self.keeping = Autosave(self)
        self.dialogue = Dialogue(self.conversation, settings, self.keeping.lose)
        self.unfinished, self.editing = (
            UnsentText(self.prompt, self.dialogue),
            QuestionEditing(self),
        )
        self.talk, self.verbs, self.several = (
            ChatController(self, submit),
            TurnActions(self),
            SeveralAnswers(self),
        )

    def on_mount(self) -> None:
        """Let the person type from the first frame on."""
        self.prompt.focus()
        self._look()
        # Not a timer of its own: each message to a screen under another one has all painted again.
        self.app.set_interval(KEEP_EVERY, self._keep)

    def _keep(self) -> None:
        self.app.run_worker(self.keeping.keep, group="keep", exclusive=True, thread=True)

    def learn(self) -> None:
        """Learn what stored answers say often, once models and conversations are there."""
        if self.talk.ready is not None and self.keeping.begun:
            self._learn(self.talk.ready.target.name)

    @work(thread=True, exclusive=True, group="learn")
    def _learn(self, model: str) -> None:
        self.keeping.learn(model)

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
        self.talk.prepare()
        self.status.show(loaded=False, activity=Activity("looking for the models", 0.0))

    def follow(self) -> None:
        """Show that the dialogue has gone to another conversation."""
        self.unfinished.go()
        self.list_chats()
        self.status.show(last=None)
        self.panel.clear()
        self.refresh_bindings()

    def list_chats(self) -> None:
        """List the conversations as they are by now, where they are kept by now."""
        self.chats.use(self.dialogue.store)
        self.chats.current = self.dialogue.conversation
        self.chats.refresh_list()

    def steer(self) -> None:
        """Let the answer under way have the settings in force, from its next round on."""
        self.talk.steer(self.mode, self.settings.lookahead, self.settings.sampling)

    @on(Prompt.Submitted)
    def say(self, message: Prompt.Submitted) -> None:
        """Have the prompt answered."""
        self.talk.say(message.text, message.attachments)

    @on(Prompt.CountWanted)
    def count(self, message: Prompt.CountWanted) -> None:
        """Have the tokens of a text counted."""
        self.talk.count(Count(message.label, message.text))

    @on(TurnAction)
    def act(self, message: TurnAction) -> None:
        """Do to a turn what was asked for."""
        self.verbs.do(message.turn, message.verb)

    @on(Deleted)
    def leave_deleted(self, message: Deleted) -> None:
        """Show a conversation no longer that is deleted."""
        self.talk.deleted(message.id)

    @on(Restored)
    def return_to_restored(self, message: Restored) -> None:
        """Show a conversation again that was open when it was deleted."""
        self.talk.restored(message.id)

    @on(ChatList.Chosen)
    def open_chosen(self, message: ChatList.Chosen) -> None:
        """Open the conversation that was chosen, and go to what was searched for."""
        self.talk.open(message.id)
        if message.message is None or not self.talk.go_to(message.message):
            self.prompt.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the key that stops while there is something to stop, else the way to the prompt."""
        if action == "stop":
            return self._occupied
        if action == "leave":
            return not self._occupied and self._edits
        if action == "back":
            return not self._occupied and not self._edits and self.away
        return True

    @property
    def _occupied(self) -> bool:
        return self.talk.busy or self.talk.waits

    @property
    def _edits(self) -> bool:
        return self.editing.question is not None

    def action_stop(self) -> None:
        """End the answer and keep its text, or take a prompt back."""
        self.talk.stop()

    def action_leave(self) -> None:
        """Leave the question that is edited as it was."""
        self.editing.leave()

    def action_toggle_mode(self) -> None:
        """Go on with the next way of decoding."""
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]

    def watch_mode(self, mode: Mode) -> None:
        """Show the new mode and let the answer under way have it."""
        self.status.show(mode=mode)
        self.steer()

    def action_new(self) -> None:
        """Begin a new conversation; the old one stays in the list."""
        self.talk.open(None)
        self.prompt.focus()

    def action_regenerate(self) -> None:
        """Have another answer to the last question."""
        self.verbs.answer_again()

    def action_several(self) -> None:
        """Have several answers at once, to the prompt or else to the last question."""
        self.several.begin()

    def action_copy(self) -> None:
        """Copy the last answer."""
        copy_and_say(self, self.conversation.last_answer())

    def action_ghosts(self) -> None:
        """Show rejected drafts in every answer, or hide them."""
        self.verbs.toggle_ghosts()

    def action_undo(self) -> None:
        """Bring the last deleted message back."""
        self.verbs.undo()

    def action_race(self) -> None:
        """Let the prompt, or else the last question, race."""
        request = challenge(self)
        if request is not None:
            self.post_message(self.RaceWanted(request))
