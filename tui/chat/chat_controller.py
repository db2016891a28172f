"""The talk: what the person says is answered, what the engine says is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assistant.attachment import Attachment
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
    Stats,
)
from assistant.request import Count, Mode, Request, Sampling, Setup
from assistant.service import Hear, Submit, Ticket
from models.errors import StorageError
from tui.chat import draft_use
from tui.chat.conversation.turn import Turn
from tui.chat.conversation.user_turn import UserTurn
from tui.chat.status import Activity
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store import Record
    from tui.chat.screen import ChatScreen

FIGURES_EVERY = 0.5
"""Seconds."""
Begin = Callable[[ModelInfo, Mode], Request]
"""Begins an answer; is called when its turn comes, and returns what the engine needs for it."""


class ChatController:
    """Keep the parts of a chat screen in step with its dialogue and the engine."""

    def __init__(self, screen: ChatScreen, submit: Submit) -> None:
        self._screen, self._submit = screen, submit
        self._dialogue = screen.dialogue
        self.ready: Ready | None = None
        self.preparing = True
        """Whether models are being looked for or loaded."""
        self._ticket: Ticket | None = None  # of the answer under way
        self._wish: Begin | None = None  # to be answered when that is possible
        self._waiting: UserTurn | None = None  # the question of that, if it was just sent
        self.no_draft: str | None = None
        """Why answers come without speculation, if they do."""
        self._doubts_draft = False  # whether it is still to be said that the draft is no help
        self._figures: Decoded | None = None  # to be shown
        self._deleted: int | None = None  # the conversation that was open when it was deleted

    @property
    def busy(self) -> bool:
        """Whether an answer is under way, also one that nobody waits for any more."""
        return self._ticket is not None

    @property
    def waits(self) -> bool:
        """Whether something is to be answered as soon as that is possible."""
        return self._wish is not None

    @property
    def wants_model(self) -> bool:
        """Whether something waits that no model will ever answer."""
        return self.waits and not self.preparing and self.ready is None

    def prepare(self) -> None:
        """Note that models are being looked for."""
        self.ready, self.preparing = None, True

    def load(self, setup: Setup, no_draft: str | None) -> None:
        """Have models loaded in place of an answer; what waits is answered afterwards."""
        self.no_draft = no_draft
        self.cancel()
        self._submit(setup, self._loading)

    def ask(self, request: Request, take: Hear) -> None:
        """Have the engine answer; `take` hears of it, and has `show` show what it does not."""
        self._ticket = self._submit(request, take)

    def count(self, count: Count) -> None:
        """Have the tokens of a text counted, once a model can."""
        if self.ready is not None:
            self._submit(count, self._counted)

    def steer(self, mode: Mode, lookahead: int | None, sampling: Sampling) -> None:
        """Let the answer under way have other settings, from its next round on."""
        if self._ticket is not None:
            self._ticket.steer(mode, lookahead, sampling)

    def cancel(self) -> None:
        """End the answer under way."""
        if self._ticket is not None:
            self._ticket.cancel()

    def no_model(self, reason: str) -> None:
        """Say why nothing can be answered, and hand the prompt back that waits for it."""
        self.ready, self.preparing = None, False
        self._screen.status.show(loaded=False, activity=None)
        self._screen.banner.show("no model")
        self._screen.conversation.note(reason, "error")
        self.take_back()

    def show(self, event: Event | None) -> None:
        """Show what the engine says of an answer."""
        status = self._screen.status
        match event:
            case Loading(role, name, fraction):
                verb = "loading" if fraction < 1 else "preparing"
                status.show(activity=Activity(f"{verb} the {role} {name}", fraction))
            case Ready():
                self._be_ready(event)
            case Prepared():
                self._dialogue.prepared(event)
            case Noticed(text):
                self._dialogue.note(text)
            case Prefilled(role, done, total):
                status.show(activity=_reading(role, done, total))
            case Decoded():
                self._decoded(event)
            case Finished():
                self._doubt_draft(event.stats)
                self._end(self._dialogue.finished(event))
            case Failed():
                self._tell(event)
                self.take_back()  # it would hang on an answer that may come to nothing
                self._end(self._dialogue.failed(event))
            case None:
                self._ticket = None
                self._go_on()

    def say(self, text: str, attachments: Sequence[Attachment]) -> None:
        """Answer what the person says now, or as soon as that is possible."""
        if self.waits:
            self._screen.notify("One message waits already; this one stays here.", timeout=3)
            return
        turn = self._dialogue.ask(text, attachments, self._screen.editing.sent())
        self._screen.list_chats()
        turn.add_class("waiting")
        self._screen.prompt.take()
        self._screen.unfinished.sent()
        self._waiting = turn
        self.answer()

    def answer(self) -> None:
        """Have the last question answered."""

        def begin(model: ModelInfo, mode: Mode) -> Request:
            turn, self._waiting = self._waiting, None
            if turn is not None:
                turn.remove_class("waiting")
            asked = self._dialogue.answer(model, mode)
            if isinstance(self._screen.focused, Turn):  # it stood on what is replaced
                self._screen.conversation.focus_last()
            return asked

        self._have(begin)

    def again(self, answer: Record) -> None:
        """Have another answer to the question of this one."""
        self._dialogue.cut_before(answer)
        self.answer()

    def go_on(self, answer: Record) -> None:
        """Go on with an answer that was cut."""
        if self._dialogue.leaf is None or answer.id != self._dialogue.leaf.id:
            self._screen.notify("Only the last answer can be gone on with; f copies up to here.")
        elif self._dialogue.shared:  # two would write over each other
            self._screen.notify("It is open in another specchat, too; f copies up to here.")
        else:
            self._have(self._dialogue.go_on)

    def open(self, conversation: int | None) -> None:
        """Show a conversation; an answer under way in another one is stopped and kept."""
        self.stop()
        self._screen.editing.leave()
        try:
            self._dialogue.open(conversation)
        except StorageError as error:
            self._screen.notify(safe(str(error)), severity="error", timeout=10, markup=False)
        self._screen.follow()

    def go_to(self, message: int) -> bool:
        """Walk to a message of the conversation, on whatever branch; return whether it is there."""
        dialogue = self._dialogue
        try:
            if message not in {record.id for record in dialogue.records}:
                dialogue.store.choose(message)
                dialogue.open(dialogue.conversation)
        except StorageError:  # it has been deleted meanwhile
            return False
        self._screen.conversation.walk_to(message)
        return True

    def deleted(self, conversation: int) -> None:
        """Show a conversation no longer that is deleted."""
        if conversation == self._dialogue.conversation:
            self._deleted = conversation
            self.open(None)

    def restored(self, conversation: int) -> None:
        """Show a conversation again that was open when it was deleted."""
        if conversation == self._deleted and self._dialogue.conversation is None:
            self.open(conversation)

    def stop(self) -> None:
        """End the answer, keep its text, and take a prompt back that waits."""
        self.take_back()
        self.cancel()
        self._screen.refresh_bindings()

    def take_back(self) -> None:
        """Hand the prompt back that waits."""
        self._wish = None
        turn, self._waiting = self._waiting, None
        if turn is not None:
            self._dialogue.take_back(turn)
            self._give_back(turn.text, turn.record.attachments if turn.record else ())

    def _give_back(self, text: str, attachments: tuple[Attachment, ...]) -> None:
        if not self._screen.prompt.give_back(text, attachments):
            self._screen.notify("Up-arrow in an empty prompt brings the unanswered one back.")

    def _have(self, begin: Begin) -> None:
        self._wish = begin
        self._go_on()

    def _go_on(self) -> None:
        """Have done what waits, or ask for a model when nothing else helps; offer fitting keys."""
        if self._wish is not None and self.ready is not None and not self.busy:
            begin, self._wish = self._wish, None
            self.ask(begin(self.ready.target, self._screen.mode), self.show)
        if self.wants_model:
            self._screen.post_message(self._screen.ModelWanted())
        self._screen.refresh_bindings()

    def _loading(self, event: Event | None) -> None:
        if isinstance(event, Failed):
            self._tell(event)
            self.no_model(event.message)
        elif event is not None:
            self.show(event)

    def _counted(self, event: Event | None) -> None:
        if isinstance(event, Counted):
            self._screen.prompt.counted(event.label, event.tokens)

    def _decoded(self, event: Decoded) -> None:
        self._dialogue.decoded(event)
        if self._dialogue.reply and self._dialogue.shows(self._dialogue.reply.record):
            if self._figures is None:
                self._screen.set_timer(FIGURES_EVERY, self._show_figures)
            self._figures = event
            self._screen.panel.take(event)

    def _show_figures(self) -> None:
        """Show the figures of the last round; more often, nobody could read them."""
        event, self._figures = self._figures, None
        if event is not None:
            self._screen.status.show(activity=None, last=event)
            self._screen.panel.paint()

    def _be_ready(self, ready: Ready) -> None:
        screen, n_ctx = self._screen, ready.target.n_ctx
        tables = [source for source in screen.settings.draft_sources if source != draft_use.MODEL]
        drafting = ready.draft is not None or (ready.rolls_back and bool(tables))
        screen.banner.ready(ready)
        screen.panel.ready(ready)
        screen.status.show(loaded=True, activity=None, drafting=drafting, n_ctx=n_ctx, last=None)
        screen.prompt.room = n_ctx
        screen.prompt.recount()
        self.no_draft = None if ready.draft else self.no_draft or ready.no_draft
        if self.no_draft:
            text = draft_use.refused(self.no_draft, ready, screen.settings)
            screen.conversation.note(text, "warning")
        self._doubts_draft = ready.draft is not None
        self.ready, self.preparing = ready, False
        self._screen.learn()
        self._go_on()

    def _doubt_draft(self, stats: Stats) -> None:
        """Say once of a pair that nothing its draft proposes is accepted."""
        draft = self.ready.draft if self.ready else None
        if draft and self._doubts_draft and (text := draft_use.rejected(stats, draft)):
            self._doubts_draft = False
            self._dialogue.note(f"{text} F5 chooses another draft, or none.")

    def _tell(self, event: Failed) -> None:
        if not self._screen.is_active:  # where the note in the conversation is not seen
            self._screen.notify(safe(event.message), severity="error", markup=False)

    def _end(self, unanswered: Record | None) -> None:
        self._show_figures()
        self._screen.status.show(activity=None, last=self._screen.panel.over())
        if unanswered is not None:
            self._give_back(unanswered.content, unanswered.attachments)
        self._screen.list_chats()


def _reading(role: str, done: int, total: int) -> Activity:
    who = "reading the prompt" if role == "target" else "the draft reads along"
    return Activity(f"{who}: {done:,} of {total:,} tokens", done / total if total else 1.0)
