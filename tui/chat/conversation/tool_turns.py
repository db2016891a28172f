"""Tool calls in a conversation: one that waits for approval, and the result of one."""

from dataclasses import replace
from time import monotonic, time
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from assistant.request import ToolCall
from assistant.session.tool_loop import Decision
from assistant.store.values import StoredMessage
from assistant.tools.values import OfferedTool
from tui.app.textual_private import follows_end
from tui.chat.conversation.turn import NOT_STORED, Turn, TurnAction, Verb, shorten, turns_in
from tui.labels import TO_MESSAGES, access, arguments, call_parts, outcome
from tui.safe import safe


class ResultTurn(Turn):
    """Show a tool call and its result."""

    DEFAULT_CSS = """
    ResultTurn { border-left: outer $secondary; }
    ResultTurn .line { height: 1; text-wrap: nowrap; text-overflow: ellipsis; color: $text-muted; }
    ResultTurn > .result { height: auto; display: none; padding: 0 0 0 2; }
    ResultTurn.-open > .result { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t,enter", "toggle('opened')", "Open", id="turn.open", tooltip="Open the result"),
    ]
    opened: reactive[bool] = reactive(False, init=False, toggle_class="-open")
    """Whether the whole result is shown."""

    def __init__(self, record: StoredMessage) -> None:
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
        if self.busy:
            self.set_interval(1.0, self._update)

    def watch_record(self) -> None:
        """Update the line and the result."""
        super().watch_record()
        self.text = self.record.content  # the result
        self._update()

    def watch_opened(self) -> None:
        """Open or fold the result."""
        self._update()

    @property
    def line(self) -> str:
        """The tool call and its outcome in a line."""
        record = self.record
        name, *given = call_parts(record.tool_calls[0]) if record.tool_calls else ["a tool"]
        if self.busy:
            return " · ".join([f"◌ {name}", f"{monotonic() - self._since:.0f} s", *given])
        return " · ".join([f"{'▾' if self.opened else '▸'} {name}", *outcome(record), *given])

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
        """Offer to open a result that has text."""
        if parameters == ("opened",):
            return bool(self.text) or None
        return super().check_action(action, parameters)

    def _update(self) -> None:
        self._line.update(safe(self.line), layout=False)
        if self.opened:
            self._result.update(shorten(safe(self.text)))


KEYS = "Enter allows it once · c in this conversation · a always · Esc refuses"
AUTOFOCUSED_KEYS = f"Enter allows it once · Esc refuses · {TO_MESSAGES}, then c or a allows more"
HERE = "Allow it in this conversation"
ELSEWHERE = f"{TO_MESSAGES}, then {KEYS}"
IGNORED_S = 0.6
"""Seconds after it appeared in which keys are ignored: they were meant for something else."""


class ApprovalTurn(Turn, inherit_bindings=False):
    """Show a tool call before it runs."""

    DEFAULT_CSS = """
    ApprovalTurn { border-left: outer $warning; background: $boost; }
    ApprovalTurn > Static { height: auto; }
    ApprovalTurn > .access { color: $text-muted; }
    ApprovalTurn > .keys { color: $text-warning; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *Turn.BINDINGS[:2],  # to the neighbours
        Binding("enter,y", "decide('once')", "Once", id="call.once", tooltip="Allow this call"),
        Binding(
            "c", "decide('conversation')", "Conversation", id="call.conversation", tooltip=HERE
        ),
        Binding("a", "decide('always')", "Always", id="call.always", tooltip="Allow it always"),
        Binding("escape,n", "decide('refuse')", "Refuse", id="call.refuse", tooltip="Refuse it"),
    ]

    def __init__(self, call: ToolCall, tool: OfferedTool) -> None:
        super().__init__(f"Run {call.name}?", replace(NOT_STORED, created=time()))
        self.call, self.tool, self.text = call, tool, call.arguments
        self._since, self._keys = monotonic(), Static(ELSEWHERE, classes="keys", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the arguments, what the tool may do, and the keys."""
        yield from super().compose()
        lines = [
            Content.assemble((f"{safe(name)}: ", "bold"), shorten(safe(value)))
            for name, value in arguments(self.call)
        ]
        yield Static(Content("\n").join(lines) if lines else "without arguments", markup=False)
        yield Static(access(self.tool), classes="access", markup=False)
        yield self._keys

    def on_resize(self) -> None:
        """Scroll its first line into view, unless the keys and the reader are elsewhere."""
        if self.has_focus or (isinstance(self.parent, Widget) and follows_end(self.parent)):
            self.scroll_visible(animate=False, top=True, force=True, immediate=True)

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show the keys that work now."""
        super().watch_has_focus(has_focus)
        self.watch_autofocused()

    def watch_autofocused(self) -> None:
        """Show the keys that work now: letters do not if the app gave it the focus."""
        keys = AUTOFOCUSED_KEYS if self.autofocused else KEYS
        self._keys.update(keys if self.has_focus else ELSEWHERE)
        self.refresh_keys()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer letters only if the user gave it the focus."""
        return not (self.autofocused and {*parameters} & {"conversation", "always"})

    def action_decide(self, decision: Decision) -> None:
        """Post the decision, unless the key came before anyone can have read this."""
        if monotonic() - self._since >= IGNORED_S:
            self.post_message(TurnAction(self, decision))
