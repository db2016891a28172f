"""One of several answers as it streams, framed by its number and how far it is."""

from textual.content import Content

from assistant.events import Decoded, Finished
from assistant.tokens import Step
from tui.chat.reply import MARKS
from tui.widgets.pane import Pane


class Column(Pane):
    """Show an answer; the one that has the focus is the one that would be chosen."""

    DEFAULT_CSS = """
    Column:focus { border: heavy $accent; }
    """

    def __init__(self, number: int, count: int) -> None:
        super().__init__()
        self.number = number
        self._writing = False
        self.border_title = Content(f" {number + 1} of {count} ")
        self.border_subtitle = Content(" reading ")

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
