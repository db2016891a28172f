"""The first line: the program and its two models."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from assistant.events import Ready
from tui.safe import safe


class Banner(Horizontal):
    """Name the target and its draft."""

    def __init__(self) -> None:
        super().__init__(id="banner")
        self._models = Static("", id="models", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the name and the models."""
        yield Static("specchat", id="name", markup=False)
        yield self._models

    def show(self, text: str) -> None:
        """Say something else than the models."""
        self._models.update(safe(text))

    def ready(self, ready: Ready) -> None:
        """Name the loaded models."""
        draft = f"  ⇠  {ready.draft.name}" if ready.draft else ", without a draft"
        self.show(ready.target.name + draft)
        self._models.tooltip = safe("\n".join(m.path for m in (ready.target, ready.draft) if m))
