"""The result of a tool call, folded to a line or open."""

from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.reactive import reactive
from textual.widgets import Static

from tui.chat.conversation.turn import Turn, Verb, turns_in
from tui.chat.conversation.user_turn import shorten
from tui.labels import counted, in_a_line
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store.values import StoredMessage

LONGEST = 200
"""Characters shown of the reason for a failure."""
_ENDS = {
    "refused": "refused",
    "cancelled": "stopped",
    "failed": "failed",
    "interrupted": "interrupted: the program ended before it returned",
}


class ResultTurn(Turn):
    """Show a tool call and its result."""

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
    """Whether the whole result is shown."""

    def __init__(self, record: "StoredMessage") -> None:
        super().__init__("Tool", record)
        self._since = monotonic()
        self._line = Static("", classes="line", markup=False)
        self._result = Static("", classes="result", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the line and the result."""
        yield from super().compose()
        yield self._line
        yield self._result

    def on_mount(self) -> None:
        """Update the seconds while it runs."""
        super().on_mount()
        if self.busy:
            self.set_interval(1.0, self._update)

    def watch_record(self) -> None:
        """Update the line and the result."""
        super().watch_record()
        self._update()

    def watch_opened(self) -> None:
        """Open or fold the result."""
        self._update()

    @property
    def text(self) -> str:
        """The result."""
        return self.record.content if self.record else ""

    @property
    def busy(self) -> bool:
        """Whether the tool runs."""
        return self.record is not None and self.record.state == "streaming"

    @property
    def line(self) -> str:
        """The tool call and its outcome in a line."""
        record = self.record
        if record is None:
            return ""
        name, *given = in_a_line(record.tool_calls[0]) if record.tool_calls else ["a tool"]
        if self.busy:
            return " · ".join([f"◌ {name}", f"{monotonic() - self._since:.0f} s", *given])
        took = [f"{record.seconds:.1f} s"] if record.seconds else []
        end, content = [_ENDS[record.stop]] if record.stop in _ENDS else [], record.content
        about = " ".join(content[:LONGEST].split()) if end else counted(len(content), "character")
        parts = [*end, *([about] if content else []), *took, *given]
        return " · ".join([f"{'▾' if self.opened else '▸'} {name}", *parts])

    def offers(self, verb: Verb) -> bool:
        """Return whether an action is possible now."""
        match verb:
            case "regenerate":
                return not self.busy
            case "continue":
                last = self.parent is not None and turns_in(self.parent)[-1] is self  # type: ignore[arg-type]
                return not self.busy and last
        return super().offers(verb)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to open it when there is a result."""
        if action == "toggle_result":
            return bool(self.text)
        return super().check_action(action, parameters)

    def action_toggle_result(self) -> None:
        """Open or fold the result."""
        self.opened = not self.opened

    def _update(self) -> None:
        self._line.update(safe(self.line), layout=False)
        if self.opened:
            self._result.update(shorten(safe(self.text)))
