"""The first line of a race: what this is, and what the styles of the tokens mean."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from tui.widgets.token_styles import BASICS, GHOST, legend, styles


class Head(Horizontal):
    """Name the screen and explain the styles."""

    DEFAULT_CSS = """
    Head {
        height: 1; padding: 0 1; background: $panel;

        & .name { width: auto; color: $text-accent; text-style: bold; }
        & .legend { width: 1fr; text-align: right; text-wrap: nowrap; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.legend = Static(classes="legend", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the name and the legend."""
        yield Static("specchat race", classes="name", markup=False)
        yield self.legend

    def on_mount(self) -> None:
        """Explain what is shown at first."""
        self.explain(ghosts=False)

    def explain(self, ghosts: bool) -> None:
        """Explain the styles, that of rejected drafts too where they are shown."""
        kinds = (*BASICS, GHOST) if ghosts else BASICS
        self.legend.update(legend(styles(self.app.no_color), kinds))
