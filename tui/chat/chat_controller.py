"""The talk: what the person says is answered, what the engine says is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assistant.attachment import Attachment
from assistant.events import (
    Answered,
    Counted,
    Decoded,
    Event,
    Failed,
    Finished,
    Loading,
    ModelInfo,
    Noticed,
    OneOf,
    Prefilled,
    Prepared,
    Ready,
    Stats,
)
from assistant.request import Mode, Request, Setup
from assistant.service import Service
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


class ChatController:
    """Keep the parts of a chat screen in step with its dialogue and the engine."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._dialogue, self._exchange = screen.dialogue, screen.exchange
        self._waiting: UserTurn | None = None  # sent, and to be answered when that is possible
        self.no_draft: str | None = None
        """Why answers come without speculation, if they do."""
        self._doubts_draft = False  # whether it is still to be said that the draft is no help
        self._figures: Decoded | None = None  # to be shown
        self._deleted: int | None = None  # the conversation that was open when it was deleted

    def load(self, engine: Service, setup: Setup, no_draft: str | None) -> None:
        """Have models loaded; the prompt that waits is answered afterwards."""
        self.no_draft = no_draft
        self._exchange.load(engine, setup)

    def no_model(self, reason: str) -> None:
        """Say why nothing can be answered, and hand the prompt back that waits for it."""
        self._exchange.loaded(None)
        self._screen.status.show(loaded=False, activity=None)
        self._screen.banner.show("no model")
        self._screen.conversation.note(reason, "error")
        self.take_back()

    def show(self, event: Event) -> None:
        """Show what the engine says."""
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
            case OneOf() | Answered():
                self._screen.several.take(event)
            case Failed() if self._screen.several.busy:
                self._screen.several.failed(event)
            case Failed():
                self._fail(event)
            case Counted(label, tokens):
                self._screen.prompt.counted(label, tokens)

    def say(self, text: str, attachments: Sequence[Attachment]) -> None:
        """Answer what the person says now, or as soon as that is possible."""
        if self._exchange.waits:
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

        self._wish(begin)

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
            self._wish(self._dialogue.go_on)

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
        self._exchange.stop()
        self._screen.refresh_bindings()

    def take_back(self) -> None:
        """Hand the prompt back that waits."""
        self._exchange.unwish()
        turn, self._waiting = self._waiting, None
        if turn is not None:
            self._dialogue.take_back(turn)
            self._give_back(turn.text, turn.record.attachments if turn.record else ())

    def _give_back(self, text: str, attachments: tuple[Attachment, ...]) -> None:
        if not self._screen.prompt.give_back(text, attachments):
            self._screen.notify("Up-arrow in an empty prompt brings the unanswered one back.")

    def _wish(self, begin: Callable[[ModelInfo, Mode], Request]) -> None:
        def request() -> Request:
            assert self._exchange.ready is not None, "wishes come true when models are loaded"
            return begin(self._exchange.ready.target, self._screen.mode)

        self._exchange.wish(request)
        self._go_on()

    def _go_on(self) -> None:
        """Ask for a model when nothing else helps; offer the keys that make sense now."""
        if self._exchange.wants_model:
            self._screen.post_message(self._screen.ModelWanted())
        self._screen.refresh_bindings()

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
        self._exchange.loaded(ready)
        self._screen.learn()
        self._go_on()

    def _doubt_draft(self, stats: Stats) -> None:
        """Say once of a pair that nothing its draft proposes is accepted."""
        draft = self._exchange.ready.draft if self._exchange.ready else None
        if draft and self._doubts_draft and (text := draft_use.rejected(stats, draft)):
            self._doubts_draft = False
            self._dialogue.note(f"{text} F5 chooses another draft, or none.")

    def _fail(self, event: Failed) -> None:
        if not self._screen.is_active:  # where the note in the conversation is not seen
            self._screen.notify(safe(event.message), severity="error", markup=False)
        if self._exchange.busy:
            self.take_back()  # it would hang on an answer that may come to nothing
            self._end(self._dialogue.failed(event))
        else:
            self.no_model(event.message)

    def _end(self, unanswered: Record | None) -> None:
        self._show_figures()
        self._screen.status.show(activity=None, last=self._screen.panel.over())
        if unanswered is not None:
            self._give_back(unanswered.content, unanswered.attachments)
        self._screen.list_chats()
        self._exchange.ended()
        self._go_on()


def _reading(role: str, done: int, total: int) -> Activity:
    who = "reading the prompt" if role == "target" else "the draft reads along"
    return Activity(f"{who}: {done:,} of {total:,} tokens", done / total if total else 1.0)
