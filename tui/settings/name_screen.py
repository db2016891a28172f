"""Asking for a name, on one line."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input

from tui.widgets.entry import EntryLine


class NamingScreen(ModalScreen[str | None]):
    """Return the name that was typed; None when there is none."""

    DEFAULT_CSS = """
    NamingScreen {
        align: center middle;
        background: $background 60%;

        & Input {
            width: 50;
            max-width: 96%;
            border: round $primary;
            border-title-color: $text-accent;
            border-subtitle-color: $text-muted;
            background: $surface;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel", id="naming.cancel")
    ]

    def __init__(self, title: str, placeholder: str) -> None:
        super().__init__()
        self.input = EntryLine(placeholder=placeholder, id="name")
        self.input.border_title = Content(title)
        self.input.border_subtitle = "Enter takes it · Esc goes back"

    def compose(self) -> ComposeResult:
        """Lay out the line."""
        yield self.input

    @on(Input.Submitted)
    def take(self, message: Input.Submitted) -> None:
        """Return the name."""
        self.dismiss(message.value.strip() or None)

    def action_leave(self) -> None:
        """Return nothing."""
        self.dismiss(None)
