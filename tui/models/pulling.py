"""A screen that fetches models: one download at a time, which Esc stops."""

from textual import on
from textual.screen import Screen

from models.catalog import GGUF
from models.files.locate import resolve
from models.files.stores import find
from tui.models.details import OFFLINE
from tui.models.download_panel import Fetch
from tui.models.fetcher import Fetched, FetchFailed
from tui.models.input_lines import ModelLines
from tui.models.inventory import ModelInventory
from tui.settings.settings import Settings

Choice = tuple[str, str | None]
"""A target and a draft, by their references; None: the best draft that there is for it."""


class PullingScreen(Screen[Choice | None]):
    """Fetch models, and use one of them as the target or just show it."""

    def __init__(self, settings: Settings, stock: ModelInventory) -> None:
        super().__init__()
        self.settings, self.stock = settings, stock
        self.fetch, self.lines = Fetch(), ModelLines(stock)
        self._then_use = False  # what is being fetched
        self._fetched = ""

    @property
    def can_pull(self) -> bool:
        """Whether a download may begin."""
        return not self.settings.offline and not self.fetch.running

    def pull(self, files: tuple[GGUF, ...], then_use: bool) -> None:
        """Fetch files, the target first; return it from the screen if it is to be used."""
        if self.settings.offline:
            self.lines.say(OFFLINE)
        elif self.fetch.running:
            self.lines.say("One download at a time; Esc stops the one under way.")
        else:
            self.lines.say("")
            self._then_use, self._fetched = then_use, files[0].name
            self.fetch.start(files)
            self.refresh_bindings()

    @on(Fetched)
    def go_on(self) -> None:
        """Use what was fetched, or show it among the others."""
        if self._then_use:
            self.dismiss((self._fetched, None))
            return
        known = resolve(self._fetched)
        place = find(known) if isinstance(known, GGUF) else None
        self.show_fetched(str(place) if place else None)

    def show_fetched(self, key: str | None) -> None:
        """Look at what is here anew, and put the cursor onto what was fetched."""
        raise NotImplementedError

    @on(FetchFailed)
    def explain(self, message: FetchFailed) -> None:
        """Say what went wrong; fetching again goes on from there."""
        self.lines.say(message.reason)
        self.refresh_bindings()

    def stop_pulling(self) -> bool:
        """Stop a download, if there is one; what has arrived is kept."""
        if self.fetch.running:
            self.fetch.stop()
            self.lines.say("Stopping …")
        return self.fetch.running
