"""The screen of models: those on this machine, whether they fit, drafts, and downloads."""

import asyncio
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.widgets import Input, OptionList, Static

from assistant.events import Ready
from assistant.settings.settings import Settings
from models import catalog
from models.catalog import GGUF
from models.drafts import NO_DRAFT
from models.errors import SpecchatError
from models.files.locate import identify, resolve
from models.files.model_file import ModelFile
from models.files.stores import find_gguf
from tui.formatting import by_parts, size
from tui.models.details import ModelDetails
from tui.models.downloads import Downloads
from tui.models.inventory import ModelEntry, ModelInventory, needed_files
from tui.models.model_list import ModelList
from tui.safe import safe
from tui.widgets.dialog import ClosedOnce
from tui.widgets.entry_screen import EntryLine
from tui.widgets.keyline import KeyLine

Choice = tuple[str, str | None]
"""References of a target and a draft; None: the best draft for it."""
WELCOME = (
    "specchat answers with a model that runs on this machine. Nothing is fetched unless you "
    "choose it here, and nothing you type ever leaves this machine. The next start begins with "
    "the model you choose."
)


class ModelsScreen(ClosedOnce[Choice | None]):
    """Choose a target or a draft, or fetch one; return the choice.

    `ready` is None on the first run, and while models are `loading`.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+g", "draft", "Guess with it", id="models.draft"),
        Binding("ctrl+n", "no_draft", "Without guesses", id="models.no-draft"),
        Binding("ctrl+f", "pull", "Fetch", id="models.pull"),
        Binding("ctrl+o", "open_file", "Open file", id="models.open"),
        Binding("down,up", "list", "To the list", id="models.list"),
        Binding("escape", "back", "Back", id="models.back"),
        Binding("f1", "app.help", "Help", id="models.help"),
    ]
    DEFAULT_CSS = """
    ModelsScreen {
        background: $surface;

        & > Static { height: auto; padding: 0 1; }
        & > #title {
            height: 1; background: $panel; color: $text-accent; text-style: bold;
            text-wrap: nowrap; text-overflow: ellipsis;
        }
        & > #welcome { margin: 1 0; max-width: 100; color: $text-muted; }
        & > #columns { height: 1; text-wrap: nowrap; }
        & > #message { color: $text-warning; display: none; }
        & > Input { display: none; border: round $primary; background: $surface; }
        &.-low #welcome, &.-low #columns { display: none; }
        &.-low ModelDetails { height: 2; border-top: none; }
    }
    """
    VERTICAL_BREAKPOINTS = [(0, "-low"), (14, "-high")]  # noqa: RUF012

    def __init__(
        self, settings: Settings, ready: Ready | None = None, *, loading: bool = False
    ) -> None:
        super().__init__()
        self.settings, self.ready, self._welcomes = settings, ready, not (ready or loading)
        self.inventory = ModelInventory(settings, ready)
        self.list, self.details = ModelList(self.inventory), ModelDetails(self.inventory)
        self.downloads = Downloads(settings.offline)
        self.message = Static(id="message", markup=False)
        self.filter = EntryLine(placeholder="words of a name, a quantisation, a place", id="filter")
        self.filter.select_on_focus = False  # a second letter must not replace the first
        self.path = EntryLine(placeholder="/path/to/model.gguf or org/repo:Q4_K_M", id="path")
        self._insisted: Choice | None = None

    def compose(self) -> ComposeResult:
        """Lay out the list above the details of a model."""
        yield Static("Models", id="title", markup=False)
        if self._welcomes:
            yield Static(WELCOME, id="welcome", markup=False)
        yield self.list.heading
        yield self.list
        yield self.details
        yield self.downloads
        yield self.message
        yield self.filter
        yield self.path
        yield KeyLine()

    def on_mount(self) -> None:
        """Scan the files."""
        self.list.focus()
        self.list.scan()

    @on(ModelList.Seen)
    def show_title(self, message: ModelList.Seen) -> None:
        """Show the loaded target and the available memory; select the default without a model."""
        self.describe()
        if not message.complete:
            return
        target, free = self.inventory.target(), size(self.inventory.available)
        gone = self.ready and f"{self.ready.target.path.name} answers, though its file is gone"
        loaded = f"{target.name} answers" if target else gone or "none loaded"
        title = by_parts(f"Models · {loaded} · {free} free", self.size.width - 2)
        self.query_one("#title", Static).update(safe(title))
        if not self.list.usable:
            wanted = catalog.find(self.settings.target_name) or catalog.DEFAULT.target
            self.list.go_to(wanted.name)

    @on(OptionList.OptionHighlighted)
    def describe(self) -> None:
        """Show the details of the model under the cursor."""
        self.details.show(self.list.current)
        self.refresh_bindings()

    def show_message(self, text: str) -> None:
        """Show a message, or none."""
        self.message.update(safe(text))
        self.message.display = bool(text)

    @on(OptionList.OptionSelected)
    def use(self) -> None:
        """Use the model under the cursor as the target."""
        entry = self.list.current
        if entry is None:
            return
        model, advice = entry.model, self.details.advice
        if isinstance(model, GGUF):
            self.pull(needed_files(model), then_use=True)
        elif model.unusable_reason:
            self.show_message(f"{model.name} cannot be used: {model.unusable_reason}")
        else:
            draft = advice.draft if advice else None
            self._choose((model.reference, draft.reference if draft else None), model, draft)

    def action_draft(self) -> None:
        """Use the model under the cursor as the draft of the loaded target."""
        entry, target = self.list.current, self.inventory.target()
        if entry is None or (model := entry.here) is None:
            return
        if entry.verdict is None:
            self.show_message("One moment: its vocabulary is still being compared.")
        elif target is not None and entry.verdict.serves:
            self._choose((self.settings.target_name, model.reference), target, model)
        else:
            self.show_message(f"{model.name} cannot guess: {entry.verdict.reason.rstrip('.')}.")

    def action_no_draft(self) -> None:
        """Continue with the target alone."""
        self.dismiss((self.settings.target_name, NO_DRAFT))

    def _choose(self, choice: Choice, target: ModelFile, draft: ModelFile | None) -> None:
        """Return the choice if it fits into memory, or if the user insists."""
        fit = self.inventory.fit(target, draft)
        if fit is None or fit.verdict != "does not fit" or choice == self._insisted:
            self.dismiss(choice)
            return
        self._insisted = choice
        self.show_message(
            f"This takes about {size(fit.needed)} of memory and {size(fit.available)} is "
            "available: the machine may slow to a crawl. Press the key again to load it anyway."
        )

    def action_pull(self) -> None:
        """Fetch the model under the cursor."""
        entry = self.list.current
        if entry and isinstance(entry.model, GGUF):
            self.pull((entry.model,), then_use=False)

    def pull(self, files: tuple[GGUF, ...], then_use: bool) -> None:
        """Fetch files, the target first; with `then_use`, choose it afterwards."""
        self.query("#welcome").remove()  # its lines are needed now
        self.show_message(self.downloads.start(files, then_use))
        self.refresh_bindings()

    @on(Downloads.Ended)
    def finish_download(self, message: Downloads.Ended) -> None:
        """Choose the fetched model, or put the cursor onto it; or show the error."""
        if message.failure:
            self.show_message(message.failure)
            self.refresh_bindings()
        elif message.then_use:
            self.dismiss((message.name, None))
        else:
            known = resolve(message.name)
            path = find_gguf(known) if isinstance(known, GGUF) else None  # it may be gone again
            self.list.scan(go_to=str(path) if path else None)

    @on(Input.Changed, "#filter")
    def narrow(self, message: Input.Changed) -> None:
        """Apply the filter at each key."""
        self.list.narrow(message.value)
        self.describe()

    @on(Input.Submitted, "#filter")
    def action_list(self) -> None:
        """Go to the results; a filter that is not empty stays visible."""
        self.filter.display = bool(self.filter.value)
        self.list.focus()

    @on(Input.Submitted, "#path")
    @work(exclusive=True, group="typed")
    async def open_path(self, message: Input.Submitted) -> None:
        """Add the typed file to the list, or fetch one of the hub."""
        if not (text := message.value.strip().strip("'\"")):
            return
        try:
            model = await asyncio.to_thread(self._typed_model, text)
        except SpecchatError as error:
            self.show_message(str(error))
            return
        self._close()
        if isinstance(model, GGUF):
            self.pull((model,), then_use=False)
        else:
            self.list.add(model)

    def _typed_model(self, text: str) -> ModelEntry | GGUF:
        known, inventory = resolve(text), self.inventory
        if isinstance(known, GGUF) and find_gguf(known) is None:
            return known
        inventory.models.append(identify(text, inventory.models))
        return inventory.judged(inventory.models[-1:])[0]

    def on_key(self, event: Key) -> None:
        """Filter the list by what is typed on it."""
        if self.list.has_focus and event.is_printable and event.character:
            event.stop()
            self._open(self.filter)
            self.filter.insert_text_at_cursor(event.character)

    def action_open_file(self) -> None:
        """Ask for a path or a name."""
        self._open(self.path)

    def _open(self, line: EntryLine) -> None:
        self.filter.display, self.path.display = line is self.filter, line is self.path
        self.set_focus(line)

    def _close(self) -> bool:
        """Close and clear the open input; return whether one was open."""
        shown = [line for line in (self.filter, self.path) if line.display]
        for line in shown:
            line.value, line.display = "", False
        self.show_message("")
        self.list.focus()
        return bool(shown)

    def action_back(self) -> None:
        """Close the input, else stop the download, else leave."""
        if self._close():
            return
        if self.downloads.stop():
            self.show_message("Stopping …")
        else:
            self.dismiss(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys that do not apply to the model under the cursor."""
        entry = self.list.current
        here = entry is not None and entry.here is not None
        if action == "list":
            return self.filter.has_focus
        if action == "open_file":
            return not self.path.has_focus
        applies = {
            "draft": self.ready and here, "no_draft": self.ready,
            "pull": not here and self.downloads.can_start,
        }  # fmt: skip
        return bool(applies.get(action, True)) or None
