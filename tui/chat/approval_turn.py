"""A tool call that waits for approval: its arguments, what it may do, and the keys."""

from dataclasses import dataclass
from time import monotonic
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from assistant.request import ToolCall
from assistant.session.tool_loop import Decision
from assistant.tools.values import OfferedTool
from tui.chat.conversation.turn import Turn
from tui.chat.conversation.user_turn import shorten
from tui.labels import access, arguments
from tui.safe import safe

KEYS = "Enter allows it once · c in this conversation · a always · Esc refuses"
UNASKED = "Enter allows it once · Esc refuses · Ctrl+↑, then c or a allows more"
ELSEWHERE = f"Ctrl+↑, then {KEYS}"
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
            "c",
            "decide('conversation')",
            "Conversation",
            id="call.conversation",
            tooltip="Allow it in this conversation",
        ),
        Binding("a", "decide('always')", "Always", id="call.always", tooltip="Allow it always"),
        Binding("escape,n", "decide('refuse')", "Refuse", id="call.refuse", tooltip="Refuse it"),
    ]

    @dataclass
    class Decided(Message):
        """The user decided on a tool call."""

        turn: "ApprovalTurn"
        decision: Decision

    def __init__(self, call: ToolCall, tool: OfferedTool) -> None:
        super().__init__(f"Run {call.name}?")
        self.call, self.tool = call, tool
        self._since, self._keys = monotonic(), Static(ELSEWHERE, classes="keys", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the arguments, what the tool may do, and the keys."""
        yield from super().compose()
        given = arguments(self.call)
        lines = [
            Content.assemble((f"{safe(name)}: ", "bold"), shorten(safe(value)))
            for name, value in given
        ]
        yield Static(Content("\n").join(lines) if lines else "without arguments", markup=False)
        yield Static(access(self.tool), classes="access", markup=False)
        yield self._keys

    @property
    def text(self) -> str:
        """The arguments in JSON."""
        return self.call.arguments

    def on_resize(self) -> None:
        """Scroll its first line into view."""
        self.scroll_visible(animate=False, top=True, force=True, immediate=True)

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show the keys that work now."""
        super().watch_has_focus(has_focus)
        self.watch_unasked()

    def watch_unasked(self) -> None:
        """Show the keys that work now: without the user's going there, letters approve nothing."""
        keys = UNASKED if self.unasked else KEYS
        self._keys.update(keys if self.has_focus else ELSEWHERE)
        self.changed()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer letters only after the user went here."""
        return not (self.unasked and {*parameters} & {"conversation", "always"})

    def action_decide(self, decision: Decision) -> None:
        """Post the decision, unless the key came before anyone can have read this."""
        if monotonic() - self._since >= IGNORED_S:
            self.post_message(self.Decided(self, decision))
