"""The list of models in columns: those on this machine, then those that can be fetched."""

from dataclasses import dataclass
from time import monotonic
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from textual import on, work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from tui.models.inventory import ModelEntry, ModelInventory
from tui.safe import safe
from tui.widgets.text_figures import MISSING, size

SHOW_EVERY_S = 0.2  # seconds between two additions while files are looked at
HERE, THERE = "On this machine", "To be fetched"
SIZE, VERDICT = 8, len("too large")
NAME, ROLE = 20, len("answers, with qwen2.5-coder-0.5b")
COLUMNS = (
    ("Size", SIZE, 40), ("Weights", 8, 60), ("Tokens/s", len("1,200–1,500"), 90), ("Where", 13, 130)
)  # fmt: skip
"""Some columns, their cells, and how wide a line must be to have them."""
WIDE = 110
STYLES = {"fits": "$text-success", "tight": "$text-warning", "too large": "$text-error"}


class ModelList(OptionList):
    """Show entries under two headings, as wide as the terminal allows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Use", id="models.use"),
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]
    DEFAULT_CSS = """
    ModelList {
        height: 1fr; padding: 0; border: none; background: $surface;
        &:focus { border: none; background-tint: $surface 0%; }
        & > .option-list--option { padding: 0 1; }
        & > .option-list--option-highlighted, &:focus > .option-list--option-highlighted {
            background: $primary 20%; color: $foreground;
        }
        &:ansi > .option-list--option-highlighted {
            background: $block-cursor-background; color: $block-cursor-foreground;
        }
        &:nocolor:focus > .option-list--option-highlighted { text-style: bold underline; }
    }
    """

    class Fitted(Message):
        """The lines were fitted to another width."""

    @dataclass
    class Seen(Message):
        """Some files were looked at, or all."""

        entries: list[ModelEntry]
        complete: bool = False

    def __init__(self, inventory: ModelInventory) -> None:
        super().__init__(markup=False)
        self._inventory = inventory
        self._entries: dict[str, ModelEntry] = {}
        self._filter = ""
        self._looking = True
        self._begun = False  # whether the cursor has been put onto the target that is loaded
        self._wanted: str | None = None  # what the cursor is to go to once it is there

    @property
    def current(self) -> ModelEntry | None:
        """The entry under the cursor."""
        if self.highlighted is None:
            return None
        return self._entries.get(self.get_option_at_index(self.highlighted).id or "")

    @property
    def usable(self) -> list[ModelEntry]:
        """What is on this machine and can be a target."""
        return [each for each in self._entries.values() if each.here and not each.refused]

    @property
    def row_width(self) -> int:
        """Cells that a line has, beside its margins and the scroll bar."""
        return max(20, self.outer_size.width - 3)

    def action_cursor_up(self) -> None:
        """Go up, and no further than the first model."""
        if any(not option.disabled for option in self.options[: self.highlighted]):
            super().action_cursor_up()

    def action_cursor_down(self) -> None:
        """Go down, and no further than the last model."""
        if self.highlighted != self.option_count - 1:
            super().action_cursor_down()

    def look(self, go_to: str | None = None) -> None:
        """Look at every file again, on a thread, and put the cursor onto one of them."""
        self._wanted, self._looking = go_to, True
        self._look()

    @work(thread=True, exclusive=True, group="look")
    def _look(self) -> None:
        worker, inventory = get_current_worker(), self._inventory
        seen: list[ModelEntry] = []
        told = monotonic()
        for model in inventory.look():
            if worker.is_cancelled:
                return
            seen.append(inventory.entry(model))
            if monotonic() - told > SHOW_EVERY_S:
                self.post_message(self.Seen(seen.copy()))
                told = monotonic()
        listed = inventory.listed()
        self.post_message(self.Seen([*seen, *listed]))
        target = inventory.target()
        verdicts = inventory.verdicts(target) if target else {}
        here = [inventory.entry(model, verdicts.get(model.path)) for model in inventory.models]
        self.post_message(self.Seen([*here, *listed], complete=True))

    @on(Seen)
    def _show(self, message: Seen) -> None:
        self._looking = not message.complete
        self._entries = {entry.key: entry for entry in message.entries}
        target = next((entry.key for entry in message.entries if entry.now == "target"), None)
        if target and not self._begun:
            self._begun = True
            self._wanted = self._wanted or target
        self._refill()

    def add(self, entry: ModelEntry) -> None:
        """Put a file before all others, and the cursor onto it."""
        self._filter, self._wanted = "", entry.key
        self._entries = {entry.key: entry} | self._entries
        self._refill()

    def narrow(self, text: str) -> None:
        """Show only what matches a filter."""
        self._filter = text
        self._refill()

    def go_to(self, key: str) -> bool:
        """Put the cursor onto an entry; say whether it is shown."""
        if any(option.id == key for option in self.options):
            self.highlighted = self.get_option_index(key)
            return True
        return False

    def _refill(self) -> None:
        """Show everything again, the cursor and the scroll position where they were."""
        kept, scroll = self.current, self.scroll_offset
        self.clear_options()
        found = self._group(self._title(), here=True) + self._group(THERE, here=False)
        nothing = Option(Content("Nothing found. Esc shows all."), disabled=True)
        self.add_options(found or [nothing])
        if self._wanted and self.go_to(self._wanted):
            self._wanted = None
        elif kept is None or not self.go_to(kept.key):
            self.action_first()
        else:
            self.scroll_to(y=scroll.y, animate=False)
            self.call_after_refresh(self.scroll_to_highlight)

    def on_resize(self) -> None:
        """Fit the lines to the new width."""
        self._refill()
        self.post_message(self.Fitted())

    def _title(self) -> str:
        if self._looking:
            return f"{HERE} · looking …"
        return HERE if self.usable else f"{HERE} · no model found"

    def _group(self, title: str, here: bool) -> list[Option]:
        every = (each for each in self._entries.values() if (each.here is not None) is here)
        shown = [entry for entry in every if entry.matches(self._filter)]
        shown.sort(key=lambda entry: entry.refused)
        if not shown and (not here or self._filter):
            return []
        head = Option(Content.styled(title, "bold $text-accent"), disabled=True)
        return [head, *(Option(row(entry, self.row_width), id=entry.key) for entry in shown)]


def columns(width: int) -> dict[str, int]:
    """Return the columns that a line has room for, and their cells; the role takes the rest."""
    others = {title: cells for title, cells, least in COLUMNS if width >= least}
    others["Memory"] = SIZE + 1 + VERDICT if width >= WIDE else VERDICT
    left = width - sum(cells + 2 for cells in others.values()) - 2  # for the name and the role
    return {"Model": max(8, min(48, max(left - ROLE, min(NAME, left)))), **others}


def row(entry: ModelEntry, width: int) -> Content:
    """Return the line of one model."""
    shown = columns(width)
    cells = Content("  ").join(_cell(entry, title, cells) for title, cells in shown.items()) + "  "
    role = Content.styled(safe(entry.role), entry.style)
    return cells + role.truncate(max(0, width - cells.cell_length), ellipsis=True)


def _cell(entry: ModelEntry, title: str, cells: int) -> Content:
    """Return what a column says of a model, in just so many cells."""
    model, fit, muted = entry.model, entry.fit, "$foreground-muted"
    match title:
        case "Model":
            return Content.styled(fitted(model.name, cells), "bold" if entry.now else "")
        case "Size":
            return Content.styled(f"{size(model.size) if model.size else '?':>{cells}}", muted)
        case "Tokens/s":
            speed = str(entry.expected.tokens_per_s) if entry.expected else MISSING
            return Content.styled(f"{speed:>{cells}}", muted)
        case "Weights":
            return Content.styled(fitted(model.weights, cells), muted)
        case "Where":
            return Content.styled(fitted(entry.place, cells), muted)
    if fit is None:
        return Content(" " * cells)
    verdict = Content.styled(f"{fit.verdict:<{VERDICT}}", STYLES[fit.verdict])
    return Content(f"{size(fit.needed):>{SIZE}} ") + verdict if cells > VERDICT else verdict


def heading(width: int) -> Content:
    """Return the titles of the columns."""
    titles = [
        title.rjust(cells) if title in ("Size", "Tokens/s") else title.ljust(cells)
        for title, cells in columns(width).items()
    ]
    return Content.styled("  ".join([*titles, "Role"]), "$foreground-muted bold")


def fitted(text: str, width: int) -> str:
    """Return a text in just so many cells; the middle of a longer one is left out."""
    text = safe(text)
    if cell_len(text) > width and text.isascii():
        head = (width - 1) // 3
        return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
    return set_cell_size(text, width)
