"""A few words, one of which is chosen with left and right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from tui.safe import safe


class Chooser(Widget, can_focus=True):
    """Show one of the choices between two arrows."""

    DEFAULT_CSS = """
    Chooser {
        height: 1;
        width: auto;
        background: $boost;

        &:focus {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: bold;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "turn(-1)", "Previous choice", show=False, id="choice.previous"),
        Binding("right,space", "turn(1)", "Next choice", show=False, id="choice.next"),
    ]

    value: reactive[str] = reactive("")

    @dataclass
    class Changed(Message):
        """The person chose."""

        chooser: "Chooser"
        value: str

    def __init__(self, choices: Sequence[str], value: str, id: str | None = None) -> None:
        super().__init__(id=id)
        self.choices = tuple(choices)
        self.set_reactive(Chooser.value, value)

    def render(self) -> Content:
        """Show the choice."""
        return Content.assemble("‹ ", safe(self.value), " ›")

    def action_turn(self, direction: int) -> None:
        """Go to the next choice."""
        here = self.choices.index(self.value) if self.value in self.choices else -direction
        self._choose(self.choices[(here + direction) % len(self.choices)])

    def on_click(self, event: events.Click) -> None:
        """Go on from wherever the mouse is: back on the left arrow, on elsewhere."""
        self.action_turn(-1 if event.x < 2 else 1)

    def _choose(self, value: str) -> None:
        self.value = value
        self.post_message(self.Changed(self, value))
