"""What all turns of a conversation have in common: a head, a bar when focused, and keys."""

from dataclasses import dataclass
from time import time
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.events import Blur, Focus
from textual.message import Message
from textual.reactive import reactive

from tui.chat.conversation.still import Still
from tui.chat.conversation.turn_head import Head
from tui.chat.conversation.turn_keys import FENCE, KEYS, LINK

if TYPE_CHECKING:
    from assistant.store.values import Record

Verb = Literal[
    "copy",
    "copy-code",
    "edit",
    "regenerate",
    "continue",
    "fork",
    "delete",
    "older",
    "newer",
    "inspect",
    "links",
]


@dataclass
class TurnAction(Message):
    """The person wants something done with a turn."""

    turn: "Turn"
    verb: Verb


class Turn(Still, Vertical):
    """A turn that can be walked to; what is done with it is up to whoever hears `TurnAction`."""

    can_focus = True
    DEFAULT_CSS = """
    Turn {
        height: auto;
        max-width: 120;
        margin: 0 0 1 0;
        padding: 0 1;
        border-left: blank;
    }
    Turn:focus { border-left: thick $accent; background: $boost; }
    """
    BINDINGS: ClassVar[list[BindingType]] = KEYS

    record: "reactive[Record | None]" = reactive(None, init=False)
    """What the store keeps of this turn, once it does."""

    @dataclass
    class Walked(Message):
        """The person went on to a neighbour."""

        turn: "Turn"
        direction: int

    def __init__(self, who: str, record: "Record | None" = None, classes: str = "") -> None:
        super().__init__(classes=f"turn {classes}")
        self.head = Head(who, record.created if record else time())
        self.set_reactive(Turn.record, record)

    def compose(self) -> ComposeResult:
        """Begin with the head."""
        yield self.head

    def on_mount(self) -> None:
        """Say which branch this is."""
        self.watch_record()

    def watch_record(self) -> None:
        """Show what the store knows."""
        if self.record is not None:
            self.head.place(*self._branch())
            self.head.since(self.record.created)
        self.changed()

    @property
    def text(self) -> str:
        """What was said."""
        raise NotImplementedError

    @property
    def busy(self) -> bool:
        """Whether more is to come, so that the turn must stay as it is."""
        return False

    def offers(self, verb: Verb) -> bool:
        """Return whether there is something to do for the verb."""
        number, count = self._branch()
        match verb:
            case "copy":
                return bool(self.text)
            case "copy-code":
                return FENCE.search(self.text) is not None
            case "links":
                return LINK.search(self.text) is not None
            case "older":
                return not self.busy and number > 1
            case "newer":
                return not self.busy and number < count
            case "fork" | "delete":
                return not self.busy
        return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the keys that have nothing to do here."""
        if action.startswith("toggle_"):
            return False
        return self.offers(parameters[0]) if action == "act" else True  # type: ignore[arg-type]

    async def action_act(self, verb: Verb) -> None:
        """Ask for it."""
        self.post_message(TurnAction(self, verb))

    def action_move(self, direction: int) -> None:
        """Scroll a turn that goes on beyond the edge; else go to its neighbour."""
        self.post_message(self.Walked(self, direction))

    def changed(self) -> None:
        """Offer the keys that make sense now."""
        if self.has_focus:
            self.refresh_bindings()

    def on_focus(self, event: Focus) -> None:
        """Mark the head too: a background alone is not seen on every terminal."""
        self.head.mark(True)

    def on_blur(self, event: Blur) -> None:
        """Take the mark away."""
        self.head.mark(False)

    def _branch(self) -> tuple[int, int]:
        record = self.record
        if record is None or record.id not in record.siblings:
            return 1, 1
        return record.siblings.index(record.id) + 1, len(record.siblings)
