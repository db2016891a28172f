"""One of several answers as it streams, framed by its number and how far it is."""

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from assistant.events import Decoded, Finished
from assistant.trace import Step
from tui.chat.reply import MARKS
from tui.widgets.conversation.tokens import TokenView


class Column(VerticalScroll):
    """Show an answer; the one that has the focus is the one that would be chosen."""

    DEFAULT_CSS = """
    Column {
        padding: 0 1;
        border: round $primary 60%;
        border-title-color: $foreground;
        border-title-background: $background;
        border-subtitle-color: $foreground 70%;
        border-subtitle-background: $background;
        background: $background;
        scrollbar-size-vertical: 1;
        scrollbar-color: $panel-lighten-2;
        scrollbar-background: $background;

        &:focus { border: heavy $accent; }
        & .all { height: auto; min-height: 100%; }  /* a short text stays at the top */
    }
    """

    def __init__(self, number: int, count: int) -> None:
        super().__init__()
        self.number = number
        self.tokens = TokenView(growing=False)
        self._writing = False
        self.border_title = Content(f" {number + 1} of {count} ")
        self.border_subtitle = Content(" reading ")

    def compose(self) -> ComposeResult:
        """Lay out the text."""
        with Vertical(classes="all"):
            yield self.tokens

    def on_mount(self) -> None:
        """Follow the text until the reader scrolls."""
        self.anchor()

    def take(self, event: Decoded | Finished) -> None:
        """Show a round, or the end."""
        count = event.stats.generated_tokens
        if isinstance(event, Decoded):
            if not self._writing:
                self._writing = True
                self.tokens.grow(True)
            self.tokens.add(Step(event.tokens, event.ghosts))
            how = "writing"
        else:
            self.tokens.grow(False)
            how = MARKS[event.stop] or "complete"
        self.border_subtitle = Content(f" {count} tokens · {how} ")
