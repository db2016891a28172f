"""Get a model: fetch one, use one that is here, or type a path."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from models.catalog import GGUF
from models.errors import SpecchatError
from models.files.locate import Installed, installed, locate
from models.files.places import hub_cache
from tui.fetching import Fetched, Fetcher, FetchFailed, Fetching
from tui.locating import fetchable
from tui.safe import safe
from tui.widgets.amounts import duration, size
from tui.widgets.fetch import Fetch

LINE = 12_500_000
"""Bytes a second of the 100 Mbit/s line for which the expected time is stated."""
WELCOME = (
    "specchat answers with a model that runs on this machine. Nothing is fetched unless you "
    "choose it here, and nothing you type ever leaves this machine."
)


class FirstRunScreen(ModalScreen[str | None]):
    """Ask which target to use, and return what it is called."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", id="models.back"),
        Binding("ctrl+q", "app.quit", "Quit", show=False),
        Binding("ctrl+c", "app.help_quit", "Quit", show=False),
    ]

    def __init__(self, reference: str | None, offline: bool) -> None:
        super().__init__()
        self.offer = fetchable(reference)
        self.offline = offline
        self.found: list[Installed] = []
        self.choices = OptionList(id="choices", markup=False)
        self.path = Input(placeholder="/path/to/model.gguf", id="path")
        self.message = Static("", id="message", markup=False)
        self.fetch = Fetch()
        self._fetcher: Fetcher | None = None

    def compose(self) -> ComposeResult:
        """Lay out the offer, the choices and what comes of them."""
        with Vertical(id="models-box") as box:
            box.border_title = "Choose a model"
            box.border_subtitle = "Enter chooses · Esc goes back"
            yield Static(WELCOME, markup=False)
            yield self.choices
            yield self.path
            yield self.fetch
            yield self.message

    def on_mount(self) -> None:
        """Offer what can be had."""
        self.found = installed()
        self.choices.add_options(
            [
                Option(_offer(self.offer, self.offline), id="fetch", disabled=self.offline),
                *(Option(_row(model), id=f"found-{i}") for i, model in enumerate(self.found)),
                Option("Type the path of another GGUF file", id="type"),
            ]
        )
        self.choices.highlighted = 1 if self.offline else 0
        self._show(self.choices)

    @on(OptionList.OptionSelected)
    def choose(self, message: OptionList.OptionSelected) -> None:
        """Do what was chosen."""
        choice = message.option_id or ""
        self._complain("")
        if choice == "fetch":
            self._fetch()
        elif choice == "type":
            self._show(self.path)
        else:
            self.dismiss(self.found[int(choice.removeprefix("found-"))].reference)

    @on(Input.Submitted)
    def use_path(self, message: Input.Submitted) -> None:
        """Use the file that was typed, if there is one."""
        try:
            self.dismiss(str(locate(message.value.strip().strip("'\""))))
        except SpecchatError as error:
            self._complain(str(error))

    def _fetch(self) -> None:
        self._show(self.fetch)
        self._fetcher = Fetcher(self.offer, self.post_message)
        self._fetcher.start()

    @on(Fetching)
    def show_progress(self, message: Fetching) -> None:
        """Show how far the download is."""
        self.fetch.show(message.what, message.progress)

    @on(Fetched)
    def use_fetched(self) -> None:
        """Go on with what was fetched."""
        self.dismiss(self.offer[0].name)

    @on(FetchFailed)
    def offer_again(self, message: FetchFailed) -> None:
        """Say what went wrong; the choices are there to try again."""
        self._fetcher = None
        self._show(self.choices)
        self._complain(message.reason)

    def action_back(self) -> None:
        """Stop the download, or go from the path to the choices, or leave."""
        if self._fetcher is not None:
            self._fetcher.stop()
        elif self.path.display:
            self._show(self.choices)
        else:
            self.dismiss(None)

    def on_unmount(self) -> None:
        """Leave no download behind."""
        if self._fetcher is not None:
            self._fetcher.stop()

    def _show(self, part: OptionList | Input | Fetch) -> None:
        for other in (self.choices, self.path, self.fetch):
            other.display = other is part
        part.focus()

    def _complain(self, text: str) -> None:
        self.message.update(safe(text))
        self.message.display = bool(text)


def _offer(offer: tuple[GGUF, ...], offline: bool) -> Content:
    total = sum(gguf.size for gguf in offer)
    names = " with the draft ".join(gguf.name for gguf in offer)
    about = "" if all(gguf.size_exact for gguf in offer) else "about "
    time = duration(total / LINE)
    how = f"{about}{size(total)}, {time} at 100 Mbit/s, into {hub_cache()}"
    if offline:
        how = "not while --offline is set"
    return Content.assemble((f"Fetch {safe(names)}", "bold"), "\n", (safe(how), "$text-muted"))


def _row(model: Installed) -> Content:
    return Content.assemble(
        (f"Use {safe(model.reference)}", "bold"),
        "\n",
        (safe(f"{size(model.size)}, {model.path}"), "$text-muted"),
    )
