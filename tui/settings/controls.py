"""What a setting is changed with, where one line of text is not it."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import TextArea

from tui.safe import safe


class MultilineInput(TextArea):
    """A text of several lines that lets go of the cursor at its first and last line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "leave_or('up')", show=False),
        Binding("down", "leave_or('down')", show=False),
    ]

    def action_leave_or(self, direction: str) -> None:
        """Move the cursor, or to the next field where there is no more line."""
        if direction == "up":
            self.screen.focus_previous() if self.cursor_at_first_line else self.action_cursor_up()
        else:
            self.screen.focus_next() if self.cursor_at_last_line else self.action_cursor_down()


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

    class Changed(Message):
        """The user chose."""

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
        self.value = self.choices[(here + direction) % len(self.choices)]
        self.post_message(self.Changed())

    def on_click(self, event: events.Click) -> None:
        """Move by where the mouse is: back on the left arrow, on elsewhere."""
        self.action_turn(-1 if event.x < 2 else 1)
