"""As many turns on the screen as a reader needs, and a hint at those out of sight."""

from typing import TYPE_CHECKING, Literal

from textual import on
from textual.geometry import Size
from textual.reactive import reactive

from tui.chat.conversation.answer import Answer
from tui.chat.conversation.new_text_hint import Hint
from tui.chat.conversation.older_records import OlderRecords
from tui.chat.conversation.turn import Turn
from tui.chat.conversation.turn_focus import Walk
from tui.chat.conversation.user_turn import UserTurn

if TYPE_CHECKING:
    from assistant.store.values import Record

NEAR = 2
"""Lines from the top at which older turns are brought."""

Default = Literal["auto", "tokens"]


class Pages(Walk):
    """Bring older turns when the reader comes to the top; take them away when there are many."""

    ghosts: reactive[bool] = reactive(False, init=False)
    """Whether rejected drafts are shown in all answers."""
    view: reactive[Default] = reactive[Default]("auto", init=False)
    """What answers are shown as when they are complete; auto means words."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.history = OlderRecords()
        """Turns that are not on the screen yet, or no longer."""
        self.hint = Hint()
        self._growing = False  # older turns are about to be laid out

    def watch_ghosts(self, ghosts: bool) -> None:
        """Show rejected drafts in every answer, or in none."""
        for answer in self.query_children(Answer):
            answer.ghosts = ghosts

    def watch_view(self) -> None:
        """Show every complete answer so; each can still be switched by itself."""
        for answer in self.query_children(Answer):
            answer.prefer(self.view == "auto")

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Bring older turns at the top; take the hint away at the bottom."""
        super().watch_scroll_y(old, new)
        if new <= NEAR and new < old and not self.returning and not self._growing:
            self._growing = True
            self.call_next(self._arrive)  # an animation must not be stopped from within
        if self.is_vertical_scroll_end:
            self.hint.display = False

    def watch_virtual_size(self, old: Size, new: Size) -> None:
        """Hint at text that arrives out of sight."""
        self._growing = False
        super().watch_virtual_size(old, new)
        if new.height > old.height and not self.follows and self._streams:
            self.hint.show(self.size.width)

    def on_resize(self) -> None:
        """Bring as many turns as a taller screen has room for."""
        self.call_after_refresh(self.fill)

    def fill(self) -> None:
        """Bring older turns while there is nothing to scroll to."""
        if self.max_scroll_y <= NEAR and self.bring():
            self.call_after_refresh(self.fill)

    @on(Hint.Followed)
    def follow(self) -> None:
        """Go to the new text and stay with it."""
        self.anchor()

    def turn_of(self, record: "Record") -> Turn:
        """Return a stored turn as it is to be shown."""
        if record.role == "user":
            return UserTurn(record.content, record)
        return self.dressed(Answer(record=record, trace=self.history.trace))

    def dressed(self, answer: Answer) -> Answer:
        """Have an answer look as all do."""
        answer.auto = self.view == "auto"
        answer.set_reactive(Answer.ghosts, self.ghosts)
        answer.views.hold = self.hold
        return answer

    def shed(self) -> None:
        """Take the oldest of very many turns away, with the notes among them."""
        turns = self.turns
        count = self.history.give(turns)
        if count:
            gone = list(self.children)[: self.children.index(turns[count])]
            self.remove_children([child for child in gone if child is not self.hint])
            self.call_after_refresh(self.fill)

    def _arrive(self) -> None:
        """Bring older turns, and stay where the way to the top has led."""
        self.app.animator.force_stop_animation(self, "scroll_y")
        self._growing = self.bring()

    @property
    def _streams(self) -> bool:
        return any(turn.busy for turn in self.turns[-2:])

    def bring(self) -> bool:
        """Put older turns on the screen; return whether there are any."""
        records = self.history.take()
        if records:
            first = next(iter(self.turns), None)
            self.mount_all([self.turn_of(record) for record in records], before=first)
        return bool(records)
