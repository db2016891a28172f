"""The chat: what the user does, and what the engine says, reach the talk and the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from assistant.events import (
    Counted,
    Event,
    Failed,
    Finished,
    Loading,
    Noticed,
    Prefilled,
    Ready,
    Stop,
)
from assistant.request import AnswerForm, Count, ReadAhead, Request, Setup
from assistant.settings.settings import Settings
from assistant.store.values import Attachment, Record
from assistant.talk.asked_folders import AskedFolders
from assistant.talk.attachments import read
from assistant.talk.events import (
    Added,
    AnswersEnded,
    CallWaits,
    Changed,
    FullyAnswered,
    Noted,
    TalkEvent,
)
from assistant.talk.talk import Talk
from assistant.talk.tool_set import ToolSet
from assistant.talk.unsent_text import UnsentText
from models.errors import SpecchatError, StorageError, UsageError
from tui.chat.conversation.welcome import SUGGESTIONS
from tui.chat.layout import ChatLayout
from tui.chat.prompt.file_search import located
from tui.chat.prompt.waiting_line import Unsent
from tui.chat.reading_ahead import ReadingAhead
from tui.chat.status import Activity
from tui.chat.talk_view import TalkView
from tui.draft_use import DraftNotes, larger
from tui.safe import one_line, safe

if TYPE_CHECKING:
    from assistant.talk.calling import Decision
    from tui.app.program import Program
    from tui.chat.tools.approval_turn import ApprovalTurn

ALTERNATIVES = 5
"""Alternatives of each row to report with each token, for the inspector."""
SUGGESTED = "suggested"
"""The name of the note that says whether a larger model was suggested."""
LONG_S = 10.0
"""Seconds after which the end of an answer is worth a bell: others are waited for."""
CHANGING = "Enter asks it again, on a new branch · Esc cancels"


class ChatController:
    """Stand between the parts of the chat, its talk and the engine of the program."""

    def __init__(self, parts: ChatLayout, settings: Settings, program: Program) -> None:
        self.parts, self._program = parts, program
        self.settings = settings
        """What counts now."""
        self.setup: Setup | None = None
        """The models that answer, once they are found."""
        self.form: AnswerForm | None = None
        """What answers have to look like."""
        self.folders = AskedFolders(self._take, lambda: self.settings)
        """What questions are about."""
        self.talk = Talk(
            self._take,
            program.do,
            program.begin,
            tools=ToolSet(settings.tools, settings.offline, asked_for=True),
            asks=self._asks,
            system=lambda: self.settings.system or "",
            folders=self.folders,
        )
        """The conversation."""
        self.view = TalkView(parts, self.talk)
        """What there is to be seen of it."""
        self.unsent = UnsentText(parts.prompt, self.talk.path)
        """What is in the prompt, here and elsewhere."""
        self.ahead = ReadingAhead(parts, program, self._to_read)
        """What the engine reads meanwhile."""
        self.ready: Ready | None = None
        self._draft_notes = DraftNotes()
        self.may_suggest = False
        """Whether a larger model may be suggested, which is done once."""
        self._began = 0.0  # when the answer or the call under way did
        self._leaves = False  # whether the program ends, and nothing is shown any more

    @property
    def wants_model(self) -> bool:
        """Whether a prompt waits that no model will ever answer."""
        return self.talk.waits and not self.talk.expects_model and self.ready is None

    # The models

    def prepare(self) -> None:
        """Note that models are being looked for."""
        self.ready = None
        self.talk.expect_model()
        self.parts.status.show(loaded=False, activity=Activity("looking for the models", 0.0))

    def load(self, setup: Setup, no_draft: str | None) -> None:
        """Have models loaded instead of an answer; what waits is answered afterwards."""
        self.setup, self._draft_notes.no_draft = setup, no_draft
        if self.talk.stream is not None:
            self.talk.stream.cancel()
        self._program.submit(setup, self._loading)

    def no_model(self, reason: str) -> None:
        """Say why nothing can be answered, and give back the waiting prompt."""
        self.ready = None
        self.parts.status.show(loaded=False, activity=None)
        self.parts.banner.show("no model")
        self.talk.no_model(reason)

    def is_free(self, why: str = "") -> bool:
        """Return whether nothing is to be answered; say it if something is."""
        if self.ready is not None and self.talk.idle:
            return True
        what = "An answer is under way; Esc stops it" if self.ready else "No models are loaded yet"
        self.parts.notify(f"{what}.{why}", timeout=4, markup=False)
        return False

    def count(self, count: Count) -> None:
        """Have the tokens of a text counted, once a model can."""
        if self.ready is not None:
            self._program.submit(count, self._counted)

    def apply(self, settings: Settings) -> None:
        """Continue with other settings, from the next round or answer on."""
        self.settings, view = settings, self.parts.conversation
        view.view, view.ghosts = settings.view, settings.ghosts
        view.thoughts = settings.show_thinking
        self.parts.status.show(mode=settings.mode)
        if self.talk.stream is not None:
            self.talk.stream.steer(settings.mode, settings.lookahead, settings.sampling)

    # What the user does

    def say(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Answer what the user says now, or as soon as that is possible."""
        if self.talk.idle or (self.unsent.question and not self.talk.waits):
            self.talk.say(text, attachments, self.unsent.replaced)
            self._sent()
        else:
            line = self.parts.prompt.line
            line.prompts = (*line.prompts, Unsent(text, tuple(attachments)))
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
        self._sent()

    def _sent(self) -> None:
        self.unsent.sent()
        self._show_change()

    def change(self, question: Record) -> None:
        """Put an earlier question into the prompt, to be asked again in other words."""
        self.leave_question()
        self.unsent.change(question)
        self._show_change()
        self.parts.prompt.focus()

    def leave_question(self) -> None:
        """Leave the question that is changed as it was; nothing that was typed is lost."""
        if self.unsent.leave():
            hint = "Your change is kept; press e on that message to go on."
            self.parts.notify(hint, timeout=5, markup=False)
        self._show_change()

    def _show_change(self) -> None:
        """Say on the prompt whether it holds a change of an earlier question."""
        self.parts.prompt.head(CHANGING if self.unsent.question else "")
        self.parts.refresh_bindings()

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
        self.read_folders()
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
        if not self.is_free(" A race needs the models for itself.") or self.setup is None:
            return
        prompt = self.parts.prompt
        request = self.talk.race_request(prompt.text, prompt.attachments)
        if request is None:
            hint = "Type a prompt first; it is answered with and without guesses."
            self.parts.notify(hint, timeout=4, markup=False)
            return
        from tui.race.lanes import duel
        from tui.race.screen import RaceScreen

        race = duel(self.setup, self.settings, request)
        self._program.push_screen(RaceScreen(race, self._program.submit))

    def toggle_form(self) -> None:
        """Ask for a file whose schema all answers follow; or let them be as they come again."""
        if self.form is None:
            self.parts.prompt.pick(self._use_form)
        else:
            self.form = None
            self.parts.prompt.show_form("")
            self.parts.notify("JSON is off: free text again.", timeout=3)

    def _use_form(self, name: str) -> None:
        """Have answers follow the schema in a file, or say why that cannot be."""
        from assistant.forms.grammar import fields_of  # which few chats need

        try:
            form = AnswerForm(
                "schema", read(located(name, self.parts.prompt.picker.root), name).text
            )
            fields = ", ".join(fields_of(form))
        except UsageError as error:
            self.parts.notify(safe(str(error)), severity="warning", timeout=8, markup=False)
            return
        self.form = form
        self.parts.prompt.show_form(one_line(f"JSON by {name}" + f": {fields}" * bool(fields)))

    # What the engine and the talk say

    def read_folders(self) -> None:
        """Bring the indexes of the folders that questions are about up to date, now and then."""
        if stale := self.folders.stale(self.parts.prompt.attachments):
            self._program.begin(self.folders.read(stale))

    async def _to_read(self) -> ReadAhead | None:
        """Return what the engine may read while the user reads and types."""
        if self.ready is None or not self.talk.idle or not self.settings.may_read_ahead:
            return None
        prompt = self.parts.prompt
        is_new = not (self.talk.path.records or prompt.attachments)
        text = prompt.text or (SUGGESTIONS[0].text if is_new else "")  # the likeliest, if any is
        attached, path, target = prompt.attachments, self.talk.path.records, self.ready.target
        found = await self.folders.find(text, attached, path, target) if text else ()
        request = self.talk.next_request(text, (*attached, *found), self.unsent.replaced)
        return ReadAhead(request) if request and self.talk.idle else None

    def _asks(self) -> Request:
        request = self.settings.request()
        return replace(request, form=self.form, alternatives=ALTERNATIVES)

    def _take(self, event: TalkEvent) -> None:
        if self._leaves:
            return
        match event:
            case Loading() | Prefilled():
                self.view.show_models(event, self.settings)
            case Ready():
                self._be_ready(event)
            case Finished():
                if doubt := self._draft_notes.doubt(event.stats):
                    self.view.show(Noted(doubt))
                elif event.stop is not Stop.CANCELLED and not self.settings.offline:
                    self._suggest()
            case Added(record) | Changed(record) if record.state == "streaming":
                self._began = monotonic()
            case AnswersEnded() | CallWaits():
                self.ahead.begin()
                self._ring(isinstance(event, CallWaits))
            case FullyAnswered():
                self._say_next()
        self.view.show(event)
        self._hold_line()

    def _hold_line(self) -> None:
        """Say whether something is under way after which the next in line is sent."""
        self.parts.prompt.line.held = self.talk.idle and self.talk.calls.next is None

    def _suggest(self) -> None:
        """Say once, below an answer, which larger model would run well here."""
        if self.may_suggest:
            self.may_suggest = False
            self._program.run_worker(self._say_larger, thread=True)

    def _say_larger(self) -> None:
        store, ready = self.talk.path.store, self.ready
        with suppress(SpecchatError, OSError, RuntimeError):  # the program may have ended
            if store and ready and (text := larger(ready.target.path, self.settings)):
                self._program.call_from_thread(self.view.show, Noted(text))
                store.remember(SUGGESTED, "1")

    def _ring(self, asks: bool) -> None:
        """Call the user for a call that waits, or for the end of a long answer."""
        is_long = self.talk.calls.next is None and monotonic() - self._began > LONG_S
        if self.settings.notify == "auto" and (asks or is_long):
            self._program.ring("A tool waits to be allowed." if asks else "The answer is complete.")

    def _loading(self, event: Event) -> None:
        match event:
            case Noticed(text):
                self.view.show(Noted(text))
            case Failed(message):
                self.no_model(message)
            case Loading() | Ready():
                self._take(event)

    def _counted(self, event: Event) -> None:
        if isinstance(event, Counted):
            self.parts.prompt.attached.counted(event.label, event.tokens)

    def _be_ready(self, ready: Ready) -> None:
        self.ready = ready
        self.view.show_models(ready, self.settings)
        if refused := self._draft_notes.ready(ready, self.settings):
            self.parts.conversation.note(refused, "warning")
        self.talk.ready(ready.target)
        self.ahead.begin()
        self.parts.refresh_bindings()
