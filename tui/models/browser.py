"""The list of models over all that is known of the one under the cursor."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList, Static

from tui.models.details import ModelDetails
from tui.models.inventory import ModelEntry, ModelInventory
from tui.models.model_list import ModelList
from tui.models.row import heading


class ModelBrowser(Vertical):
    """Show models in columns, and one of them in full."""

    DEFAULT_CSS = """
    ModelBrowser {
        height: 1fr;

        & > #columns { height: 1; padding: 0 1; text-wrap: nowrap; }
    }
    """

    def __init__(self, stock: ModelInventory, offer: str) -> None:
        super().__init__()
        self._offer = offer  # what to put the cursor onto when there is no model here
        self._heading = Static("", id="columns", markup=False)
        self.list, self.details = ModelList(stock), ModelDetails(stock)

    def compose(self) -> ComposeResult:
        """Lay out the titles of the columns, the list and the details."""
        yield self._heading
        yield self.list
        yield self.details

    def on_mount(self) -> None:
        """Look at what there is."""
        self.list.focus()
        self.list.look()

    @property
    def current(self) -> ModelEntry | None:
        """The entry under the cursor."""
        return self.list.current

    def on_resize(self) -> None:
        """Fit the titles of the columns to the width."""
        self._heading.update(heading(self.list.row_width))

    @on(ModelList.Looked)
    def begin(self) -> None:
        """Without any model, offer the one to begin with."""
        if not self.list.usable:
            self.list.go_to(self._offer)

    @on(ModelList.Seen)
    @on(OptionList.OptionHighlighted)
    def describe(self) -> None:
        """Tell all about the model under the cursor, also what was found out meanwhile."""
        self.details.show(self.current)
        self.screen.refresh_bindings()
