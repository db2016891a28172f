"""What a tool returned: a line, or all of it."""

from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.reactive import reactive
from textual.widgets import Static

from tui.chat.conversation.turn import Turn, Verb, turns_in
from tui.chat.conversation.user_turn import shorten
from tui.figures import counted, in_a_line
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store.values import StoredMessage

LONGEST = 200
"""Characters of the reason of a failure."""
_ENDS = {
    "refused": "refused",
    "cancelled": "stopped",
    "failed": "failed",
    "interrupted": "interrupted: the program ended before it returned",
}


class ResultTurn(Turn):
    """Fold a result to a line."""

    DEFAULT_CSS = """
    ResultTurn { border-left: outer $secondary; }
    ResultTurn > .line { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    ResultTurn > .line { color: $text-muted; }
    ResultTurn > .result { height: auto; display: none; padding: 0 0 0 2; }
    ResultTurn.-open > .result { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t,enter", "toggle_result", "Open", id="turn.open", tooltip="Open the result"),
    ]
    opened: reactive[bool] = reactive(False, init=False, toggle_class="-open")
    """Whether all of it is shown."""

    def __init__(self, record: "StoredMessage") -> None:
        super().__init__("Tool", record)
        self._since = monotonic()
        self._line = Static("", classes="line", markup=False)
        self._result = Static("", classes="result", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the line, and what it stands for."""
        yield from super().compose()
        yield self._line
        yield self._result

    def on_mount(self) -> None:
        """Count the seconds while it runs."""
        super().on_mount()
        if self.busy:
            self.set_interval(1.0, self._say)

    def watch_record(self) -> None:
        """Show what is known of it."""
        super().watch_record()
        self._say()

    def watch_opened(self) -> None:
        """Show all of it, or the line alone."""
        self._say()

    @property
    def text(self) -> str:
        """What it returned."""
        return self.record.content if self.record else ""

    @property
    def busy(self) -> bool:
        """Whether it runs."""
        return self.record is not None and self.record.state == "streaming"

    @property
    def line(self) -> str:
        """The call and its end, in a line."""
        record = self.record
        if record is None:
            return ""
        name, *given = in_a_line(record.tool_calls[0]) if record.tool_calls else ["a tool"]
        if self.busy:
            return " · ".join([f"◌ {name}", f"{monotonic() - self._since:.0f} s", *given])
        took = [f"{record.seconds:.1f} s"] if record.seconds else []
        end, said = [_ENDS[record.stop]] if record.stop in _ENDS else [], record.content
        told = " ".join(said[:LONGEST].split()) if end else counted(len(said), "character")
        parts = [*end, *([told] if said else []), *took, *given]
        return " · ".join([f"{'▾' if self.opened else '▸'} {name}", *parts])

    def offers(self, verb: Verb) -> bool:
        """Return whether there is something to do for the verb."""
        match verb:
            case "regenerate":
                return not self.busy
            case "continue":
                last = self.parent is not None and turns_in(self.parent)[-1] is self  # type: ignore[arg-type]
                return not self.busy and last
        return super().offers(verb)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to open it when there is something."""
        if action == "toggle_result":
            return bool(self.text)
        return super().check_action(action, parameters)

    def action_toggle_result(self) -> None:
        """Show all of it, or fold it."""
        self.opened = not self.opened

    def _say(self) -> None:
        self._line.update(safe(self.line), layout=False)
        if self.opened:
            self._result.update(shorten(safe(self.text)))
