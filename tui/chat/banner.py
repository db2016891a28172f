"""The first line: the program and its two models."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from assistant.events import Ready
from models.errors import StorageError
from tui.figures import model_name
from tui.safe import safe


class Banner(Horizontal):
    """Name the model that answers and the one that guesses."""

    DEFAULT_CSS = """
    Banner {
        height: 1; padding: 0 1; background: $panel;
        & #name { width: auto; color: $text-accent; text-style: bold; }
        & #name.warning { color: $text-error; }
        & #models {
            width: 1fr; padding: 0 0 0 2; color: $text-muted; text-align: right;
            text-wrap: nowrap; text-overflow: ellipsis;
        }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="banner")
        self._program = Static("specchat", id="name", markup=False)
        self._models = Static("", id="models", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the name and the models."""
        yield self._program
        yield self._models

    def show(self, text: str) -> None:
        """Show something other than the models."""
        self._models.update(safe(text))

    def not_saved(self, error: StorageError) -> None:
        """Say, once, that nothing is kept any more."""
        if not self._program.has_class("warning"):
            self._program.update("specchat · not saved")
            self._program.add_class("warning")
            text = f"{error} The conversation continues, but is not saved; copy what you need."
            self.notify(safe(text), severity="error", timeout=30, markup=False)

    def ready(self, ready: Ready) -> None:
        """Name the loaded models."""
        guesses = f"guesses: {model_name(ready.draft.name)}" if ready.draft else "no model guesses"
        self.show(f"answers: {model_name(ready.target.name)} · {guesses}")
        paths = "\n".join(str(m.path) for m in (ready.target, ready.draft) if m)
        self._models.tooltip = Content(safe(paths))  # a str would be read as markup
