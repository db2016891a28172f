"""Walking from turn to turn by keys."""

from textual import on
from textual.message import Message

from tui.chat.conversation.scroll_anchor import Steady
from tui.chat.conversation.turn import Turn

STEP = 3
"""Lines that an arrow key scrolls within a turn that is longer than the screen."""


class Walk(Steady):
    """Turns that can be walked along."""

    can_focus = False  # the turns have the keys

    class Left(Message):
        """The person went on past the newest turn."""

    @property
    def turns(self) -> list[Turn]:
        """The turns on the screen, the newest last."""
        turns = self.query_children(Turn)
        return [turn for turn in turns if turn.display]

    def bring(self) -> bool:
        """Put older turns on the screen; return whether there are any."""
        return False

    def focus_last(self) -> bool:
        """Walk to the newest turn; return whether there is one."""
        turns = self.turns
        if turns:
            self.screen.set_focus(turns[-1], scroll_visible=False)
            if not self.follows:
                self.reveal(turns[-1], -1)
        return bool(turns)

    def walk_to(self, message: int) -> None:
        """Walk to the turn of a message, wherever it is in the conversation."""
        for turn in self.turns:
            if turn.record is not None and turn.record.id == message:
                # At once: the next key must find it, not a neighbour of what has been taken away.
                self.screen.set_focus(turn, scroll_visible=False)
                self.call_after_refresh(self.reveal, turn, -1)
                return
        if self.bring():
            self.walk_to(message)

    def focus_next(self, direction: int) -> bool:
        """Walk to the turn before (-1) or after (1) this one; return whether there is one."""
        turns = self.turns
        place = next((i for i, turn in enumerate(turns) if turn is self.screen.focused), len(turns))
        if place + direction < 0 and self.bring():
            self.call_after_refresh(self.focus_next, direction)
            return True
        if not 0 <= place + direction < len(turns):
            return False
        self.screen.set_focus(turns[place + direction], scroll_visible=False)
        self.reveal(turns[place + direction], direction)
        return True

    @on(Turn.Walked)
    def walk(self, event: Turn.Walked) -> None:
        """Scroll a turn that goes on beyond the edge; else go to its neighbour, or leave."""
        event.stop()
        if self.goes_on(event.turn, event.direction):
            self.scroll_relative(y=event.direction * STEP, animate=False, immediate=True)
        elif not self.focus_next(event.direction) and event.direction > 0:
            self.post_message(self.Left())
