"""The chat: what the user does, and what the engine says, reach the talk and the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.events import Finished, Loading, Prefilled, Ready, Stop
from assistant.request import Request
from assistant.settings.settings import Settings
from assistant.store.values import Attachment, Record
from assistant.talk.asked_folders import AskedFolders
from assistant.talk.events import AnswerEnded, CallWaits, FullyAnswered, TalkEvent
from assistant.talk.talk import Talk
from assistant.talk.tool_set import ToolSet
from assistant.talk.unsent_text import UnsentText
from models.errors import StorageError
from tui.chat.bell import Bell
from tui.chat.chat_models import ChatModels
from tui.chat.layout import ChatLayout
from tui.chat.prompt.form import ChosenForm
from tui.chat.prompt.waiting_line import Unsent
from tui.chat.reading_ahead import ReadingAhead
from tui.chat.talk_view import TalkView
from tui.figures import MODES
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.talk.calling import Decision
    from tui.app.program import Program
    from tui.chat.tools.approval_turn import ApprovalTurn

ALTERNATIVES = 5
"""Alternatives of each row to report with each token, for the inspector."""


class ChatController:
    """Stand between the parts of the chat, its talk and the engine of the program."""

    def __init__(self, parts: ChatLayout, settings: Settings, program: Program) -> None:
        self.parts, self._program = parts, program
        self.settings = settings
        """What counts now."""
        self.form = ChosenForm(parts.prompt)
        self.talk = Talk(
            self._take,
            program.do,
            program.begin,
            tools=ToolSet(settings.tools, settings.offline, asked_for=True),
            asks=self._asks,
            folders=AskedFolders(self._take, lambda: self.settings),
        )
        self.view = TalkView(parts, self.talk)
        """What there is to be seen of it."""
        self.models = ChatModels(
            parts, self.view, self.talk, program, lambda: self.settings, self._take
        )
        self.unsent = UnsentText(parts.prompt, self.talk.path)
        """What is in the prompt, here and elsewhere."""
        self.ahead = ReadingAhead(
            parts, self.talk, self.unsent, self.models, program, lambda: self.settings
        )
        self._bell = Bell(program, self.talk)
        self._deleted: int | None = None  # the conversation that was open when it was deleted
        self._leaves = False  # whether the program ends, and nothing is shown any more

    def is_free(self, why: str = "") -> bool:
        """Return whether nothing is to be answered; say it if something is."""
        ready = self.models.ready is not None
        if ready and self.talk.idle:
            return True
        what = "An answer is under way; Esc stops it" if ready else "No models are loaded yet"
        self.parts.notify(f"{what}.{why}", timeout=4, markup=False)
        return False

    def apply(self, settings: Settings) -> None:
        """Continue with other settings, from the next round or answer on."""
        self.settings, view = settings, self.parts.conversation
        view.view, view.ghosts = settings.view, settings.ghosts
        view.thoughts = settings.show_thinking
        self.parts.status.show(mode=settings.mode)
        if self.talk.asking.stream is not None:
            self.talk.asking.stream.steer(settings.mode, settings.lookahead, settings.sampling)

    def toggle_mode(self) -> None:
        """Continue with the next way of decoding."""
        modes = [*MODES]
        following = modes[(modes.index(self.settings.mode) + 1) % len(modes)]
        self.apply(replace(self.settings, mode=following))

    # What the user does

    def say(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Answer what the user says now, or as soon as that is possible."""
        if self.talk.idle or (self.unsent.question and not self.talk.waits):
            self.talk.say(text, attachments, self.unsent.replaced)
            self.unsent.sent()
        else:
            self.parts.prompt.line.add(Unsent(text, tuple(attachments)))
        self._hold_line()

    def _say_next(self) -> None:
        """Answer what has waited longest, if anything has."""
        line = self.parts.prompt.line
        if line.prompts and not self.unsent.question:
            unsent = line.take(0)
            self.say(unsent.text, unsent.attachments)

    def keep(self) -> None:
        """Keep and show the question that is in the prompt."""
        unsent = self.parts.prompt.take()
        self.talk.add_question(unsent.text, unsent.attachments, self.unsent.replaced)
        self.unsent.sent()

    def change(self, question: Record) -> None:
        """Put an earlier question into the prompt, to be asked again in other words."""
        self.leave_question()
        self.unsent.change(question)
        self.parts.prompt.focus()

    def leave_question(self) -> None:
        """Leave the question that is changed as it was; nothing that was typed is lost."""
        if self.unsent.leave():
            hint = "Your change is kept; press e on that message to continue it."
            self.parts.notify(hint, timeout=5, markup=False)

    def decide(self, turn: ApprovalTurn, decision: Decision) -> None:
        """Have a call run, or refused, as the user decided."""
        if turn is not self.view.asked:
            return
        self.parts.prompt.focus()
        try:
            self.talk.calls.decide(decision)
        except StorageError as error:
            self.parts.notify(safe(str(error)), severity="warning", timeout=8, markup=False)

    def open(self, conversation: int | None, to_prompt: bool = False) -> None:
        """Show a conversation; an answer under way in another one is stopped and kept."""
        self.go(lambda: self.talk.open(conversation))
        if to_prompt:
            self.parts.prompt.focus()

    def leave_deleted(self, conversation: int, is_back: bool) -> None:
        """Stop showing a conversation that was deleted; show it again once it is back."""
        shown = self.talk.path.conversation
        if is_back and conversation == self._deleted and shown is None:
            self.open(conversation)
        elif not is_back and conversation == shown:
            self._deleted = conversation
            self.open(None)

    def go_to(self, message: int) -> bool:
        """Go to a message of the conversation, on any branch; return whether it exists."""
        path = self.talk.path
        try:
            if message not in {record.id for record in path.records}:
                path.choose(message)
        except StorageError:  # it has been deleted meanwhile
            return False
        self.parts.conversation.walk_to(message)
        return True

    def go(self, there: Callable[[], None]) -> None:
        """Show another conversation, with what is unsent in it; or say why that cannot be."""
        self.stop()
        self.leave_question()
        try:
            there()
        except StorageError as error:
            self.parts.notify(safe(str(error)), severity="error", timeout=10, markup=False)
        self.follow()

    def follow(self) -> None:
        """Show that another conversation is on the screen."""
        self.unsent.go()
        self.view.list_chats()
        self.view.forget_figures()
        self.ahead.read_folders()
        self.ahead.begin()
        self.parts.refresh_bindings()

    def stop(self) -> None:
        """End the answer or the call, keep what there is, and take back a waiting prompt."""
        self.talk.stop()
        self.parts.refresh_bindings()

    def leave(self) -> None:
        """Keep what is under way: the program ends."""
        self._leaves = True
        self.talk.leave()

    def race(self) -> None:
        """Let the prompt, or else the last question, race; or say why that cannot be."""
        if not self.is_free(" A race needs the models for itself.") or self.models.setup is None:
            return
        prompt = self.parts.prompt
        request = self.talk.asking.race(prompt.text, prompt.attachments)
        if request is None:
            hint = "Type a question first; it is answered with and without guesses."
            self.parts.notify(hint, timeout=4, markup=False)
            return
        from tui.race.lanes import duel
        from tui.race.screen import RaceScreen

        race = duel(self.models.setup, self.settings, request)
        self._program.push_screen(RaceScreen(race, self._program.submit))

    # What the engine and the talk say

    def _asks(self) -> Request:
        request = self.settings.request()
        return replace(request, form=self.form.form, alternatives=ALTERNATIVES)

    def _take(self, event: TalkEvent) -> None:
        if self._leaves:
            return
        match event:
            case Loading() | Prefilled():
                self.view.show_models(event, self.settings)
            case Ready():
                self.models.be_ready(event)
                self.ahead.begin()
                self.parts.refresh_bindings()
            case Finished():
                if event.stop is not Stop.CANCELLED and self.models.may_suggest:
                    self.models.suggest()
            case AnswerEnded() | CallWaits():
                self.ahead.begin()
            case FullyAnswered():
                self._say_next()
        self._bell.hear(event, self.settings.notify == "auto")
        self.view.show(event)
        self._hold_line()

    def _hold_line(self) -> None:
        """Say whether something is under way after which the next in line is sent."""
        self.parts.prompt.line.held = self.talk.idle and self.talk.calls.next is None
