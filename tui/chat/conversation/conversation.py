"""The conversation: turns, answers and notes, the newest at the bottom."""

from collections.abc import Sequence
from itertools import takewhile

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.widgets import Static

from assistant.session.active_branch import ActiveBranch
from assistant.store.values import StoredMessage
from tui.app.textual_private import follows_end
from tui.chat.conversation.answer import Answer
from tui.chat.conversation.older_turns import OlderTurns
from tui.chat.conversation.reader import Reader
from tui.chat.conversation.tool_turns import ResultTurn
from tui.chat.conversation.turn import Turn, UserTurn, turns_in
from tui.chat.conversation.welcome import NOVICE, Note, NoteKind, Welcome

HINT = " ↓ new text below "


class Conversation(VerticalScroll):
    """Show the turns; scroll along with new text only while the end is in sight."""

    BLANK = True
    DEFAULT_CSS = """
    Conversation {
        layers: turns hint; padding: 1 0 0 2; align-horizontal: center;
        scrollbar-gutter: stable;

        & > #new-text {
            layer: hint; dock: bottom; width: auto; height: 1; display: none;
            color: $text-accent; background: $panel; text-style: bold;
        }
        &.-typing SuggestionLine, &.-typing .try { text-opacity: 40%; }
    }
    """
    can_focus = False  # its turns take the focus
    branch: ActiveBranch
    """The branch of messages that it shows."""

    class Left(Message):
        """The user moved past the newest turn."""

    def __init__(self) -> None:
        super().__init__(id="conversation")
        self.hint = Static(HINT, id="new-text", markup=False)
        self.question_count = 0
        """How many questions the user has asked, also before this start."""
        self.has_tools = False
        """Whether tools are configured, which may send their arguments to servers."""
        self.switches = {"colours": True, "ghosts": False, "thoughts": False}
        """What is shown of all answers; each can still be switched by itself."""
        self._older = OlderTurns(self, self._turn_of)
        self.reader = Reader(self, self._older)
        """Remembers the scroll position, and moves from turn to turn."""

    def on_mount(self) -> None:
        """Stay at the end when turns are added."""
        self.anchor()
        layouts = self.screen.screen_layout_refresh_signal
        layouts.subscribe(self, lambda _: self.reader.laid_out(), immediate=True)
        layouts.subscribe(self, lambda _: self._older.fill(), immediate=True)

    def compose(self) -> ComposeResult:
        """Lay out the hint; the turns are mounted once the store is open."""
        yield self.hint

    @property
    def turns(self) -> list[Turn]:
        """The turns on the screen, the newest last."""
        return turns_in(self)

    @property
    def follows(self) -> bool:
        """Whether the end stays in sight, whatever is added."""
        return follows_end(self)

    # What is shown

    def open(self, records: Sequence[StoredMessage]) -> None:
        """Show a stored conversation: its newest turns now, older ones when scrolled to.

        Turns that are already on the screen, from the first one on, stay as they are.
        """
        count, new = self._older.replace(records)
        self.hint.display = False
        start = self.children.index(self.turns[count - 1]) + 1 if count else 0
        self.remove_children([child for child in self.children[start:] if child is not self.hint])
        self.mount_all([self._turn_of(record) for record in new])
        if not count and not new:
            self.welcome()
        self.anchor()

    def add_question(self, record: StoredMessage) -> UserTurn:
        """Add a question of the user's, and scroll to it."""
        self.question_count += 1
        self.query_children(Welcome).remove()
        self._older.unmount_oldest()
        turn = UserTurn(record)
        self.mount(turn)
        self.anchor()
        return turn

    def add(self, record: StoredMessage) -> None:
        """Add an empty answer, or a tool call."""
        self.mount(self._turn_of(record))

    def remove_turn(self, turn: Turn) -> None:
        """Remove a turn, and the notes on it, which stand below it."""
        below = self.children[self.children.index(turn) + 1 :]
        notes = takewhile(lambda child: isinstance(child, Note), below)
        self.remove_children([turn, *notes])

    def note(self, text: str, severity: NoteKind = "info", before: Turn | None = None) -> None:
        """Add a sentence of the app's own."""
        self.mount(Note(text, severity), before=before)

    def welcome(self) -> None:
        """Show the introduction in an empty conversation; notes that are shown stay."""
        self.mount(Welcome(self.question_count < NOVICE, self.has_tools), after=self.hint)

    def suggest(self, key: str) -> None:
        """Choose among the suggestions with a key that the prompt does not use."""
        for welcome in self.query_children(Welcome):
            welcome.use_key(key)

    def switch(self, **switches: bool) -> None:
        """Show or hide `colours`, `ghosts` and `thoughts` in all answers, where that changes."""
        changes = dict(switches.items() - self.switches.items())
        self.switches |= changes
        for answer in self.query_children(Answer):
            for name, wanted in changes.items():
                setattr(answer, name, wanted)

    def _turn_of(self, record: StoredMessage) -> Turn:
        if record.role == "user":
            return UserTurn(record)
        if record.role == "tool":
            return ResultTurn(record)
        answer = Answer(record, self.branch)
        for name, wanted in self.switches.items():
            answer.set_reactive(getattr(Answer, name), wanted)
        return answer

    # Where the reader is

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Remember the position; mount older turns near the top."""
        super().watch_scroll_y(old, new)
        if not self.reader.is_restoring:
            self.reader.remember()
            self._older.mount_near(new < old)
        self._hide_hint()

    def _hide_hint(self) -> None:
        self.hint.display &= not self.is_vertical_scroll_end

    def watch_virtual_size(self, old: Size, new: Size) -> None:
        """Stay at the reader's position; show the hint when text arrives out of sight."""
        self._older.laid_out()
        if self.follows:
            return
        self.reader.restore()
        if self.max_scroll_y and new.height > old.height and any(t.busy for t in self.turns[-2:]):
            self.hint.styles.offset = (max(0, self.size.width - len(HINT) - 3), 0)
            self.hint.display = True

    def on_resize(self) -> None:
        """Hide the hint where all of the text fits: it does not scroll."""
        self.call_after_refresh(self._hide_hint)
        # Textual 8.2.8 moves the thumb of an anchored widget without painting it.
        self.call_after_refresh(self.vertical_scrollbar.refresh)

    @on(Click, "#new-text")
    def follow(self) -> None:
        """Go to the new text and stay with it."""
        self.anchor()

    # Where the keys go

    def focus_last(self) -> None:
        """Focus the newest turn, if there is one."""
        if turns := self.turns:
            turns[-1].autofocused = False
            self.screen.set_focus(turns[-1], scroll_visible=False)
            if not self.follows:
                self.reader.reveal(turns[-1], -1)

    def focus_visible(self) -> None:
        """Focus the last turn in sight, without scrolling."""
        bottom = self.scroll_y + self.scrollable_content_region.height
        in_sight = [turn for turn in self.turns if turn.virtual_region.y < bottom]
        if self.follows or not in_sight:
            self.focus_last()
        else:
            in_sight[-1].autofocused = False
            self.screen.set_focus(in_sight[-1], scroll_visible=False)

    @on(Turn.Moved)
    def move_focus(self, event: Turn.Moved) -> None:
        """Scroll or go to another turn, or leave past the newest."""
        event.stop()
        if not self.reader.move(event) and event.direction > 0:
            self.post_message(self.Left())
