"""A frame in which a text grows, next to others."""

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widget import Widget

from tui.chat.conversation.token_view import TokenView


class Pane(VerticalScroll):
    """Follow a text as it grows, until the reader scrolls."""

    DEFAULT_CSS = """
    Pane {
        padding: 0 1; border: round $primary; background: $background;
        border-title-color: $foreground; border-title-background: $background;
        border-subtitle-color: $text-muted; border-subtitle-background: $background;

        &:focus { border: heavy $accent; }
        & .all { height: auto; min-height: 100%; }  /* a short text stays at the top */
    }
    """

    def __init__(self, *above: Widget, classes: str | None = None) -> None:
        """Begin without a text; `above` is what stands above it."""
        super().__init__(classes=classes)
        self.tokens = TokenView(growing=False)
        self._all = Vertical(*above, self.tokens, classes="all")

    def compose(self) -> ComposeResult:
        """Lay out what is above the text, and the text."""
        yield self._all

    def on_mount(self) -> None:
        """Follow the text until the reader scrolls."""
        self.anchor()
