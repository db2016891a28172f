"""A hint that text arrives below what is being read."""

from textual.message import Message
from textual.widgets import Static

TEXT = " ↓ new text below "


class Hint(Static):
    """Float above the end of the conversation; a click goes there."""

    DEFAULT_CSS = """
    Hint {
        layer: hint;
        dock: bottom;
        width: auto;
        height: 1;
        color: $text-accent;
        background: $panel;
        text-style: bold;
        display: none;
    }
    """

    class Followed(Message):
        """The person wants to see the new text."""

    def __init__(self) -> None:
        super().__init__(TEXT, markup=False)

    def show(self, width: int) -> None:
        """Appear on the right of so many columns."""
        self.styles.offset = (max(0, width - len(TEXT) - 3), 0)
        self.display = True

    def on_click(self) -> None:
        """Ask to go there."""
        self.post_message(self.Followed())
