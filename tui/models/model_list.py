"""The list of models in columns: on this machine, then to be fetched."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from time import monotonic
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from textual import on, work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from models import catalog, machine
from tui.formatting import MISSING, size
from tui.models.inventory import PURPOSES, ModelEntry, ModelInventory
from tui.safe import safe

SHOW_EVERY_S = 0.2  # seconds between two updates during a scan
INSTALLED, AVAILABLE = "On this machine", "Available to download"
FIRST = "To begin with"  # the heading of the two models that a first start offers
LARGE_MEMORY = 16_000_000_000  # bytes of memory from which it does
SIZE, VERDICT = 8, len("does not fit")
SHORT = {"fits": "fits", "tight": "tight", "does not fit": "no"}
LEAST_NAME, NAME, MOST_NAME = 8, 20, 48
ROLE, NOW = len("answers, or guesses"), len("● answers now")
NARROW, SPEED, WIDE = 70, 90, 110
"""Widths from which the verdict is whole, the speed has a column, and the memory a figure."""
COLUMNS = (
    ("Size", SIZE, 40), ("Weights", 8, 60), ("Tokens/s", len("1,200–1,500"), SPEED),
    ("Where", 13, 130),
)  # fmt: skip
"""Optional columns, their cells, and the width of a line from which they are shown."""
STYLES = {"fits": "$text-success", "tight": "$text-warning", "does not fit": "$text-error"}


_RATIO = catalog.LARGER.size / catalog.DEFAULT.target.size
_ROLES = ("small and fast", f"better, {_RATIO:.0f} × slower")


class ModelList(OptionList):
    """Show entries under two headings, with as many columns as fit."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Use", id="models.use")]
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

    @dataclass
    class Seen(Message):
        """Some files were scanned, or all."""

        entries: list[ModelEntry]
        complete: bool = False

    def __init__(self, inventory: ModelInventory) -> None:
        super().__init__(markup=False)
        self.heading = Static(id="columns", markup=False)
        """The titles of the columns, to be shown above the list."""
        self._inventory = inventory
        self._entries: dict[str, ModelEntry] = {}
        self._filter = ""
        self._scanning = True
        self._started = False  # whether the cursor was put onto the loaded target
        self._wanted: str | None = None  # the entry that the cursor goes to once it is listed

    @property
    def current(self) -> ModelEntry | None:
        """The entry under the cursor."""
        if self.highlighted is None:
            return None
        return self._entries.get(self.get_option_at_index(self.highlighted).id or "")

    @property
    def usable(self) -> list[ModelEntry]:
        """The entries on this machine that can be a target."""
        return [entry for entry in self._entries.values() if entry.here and not entry.is_unusable]

    @property
    def row_width(self) -> int:
        """Cells of a row, without margins and the scroll bar."""
        return max(20, self.outer_size.width - 3)

    def action_cursor_up(self) -> None:
        """Go up, at most to the first model."""
        if any(not option.disabled for option in self.options[: self.highlighted]):
            super().action_cursor_up()

    def action_cursor_down(self) -> None:
        """Go down, at most to the last model."""
        if self.highlighted != self.option_count - 1:
            super().action_cursor_down()

    def scan(self, go_to: str | None = None) -> None:
        """Scan all files on a thread, then put the cursor onto an entry."""
        self._wanted, self._scanning = go_to, True
        self._scan()

    @work(thread=True, exclusive=True, group="scan")
    def _scan(self) -> None:
        worker, inventory = get_current_worker(), self._inventory
        seen: list[ModelEntry] = []
        posted_at = monotonic()
        for model in inventory.scan():
            if worker.is_cancelled:
                return
            seen.append(inventory.entry(model))
            if monotonic() - posted_at > SHOW_EVERY_S:
                self.post_message(self.Seen(seen.copy()))
                posted_at = monotonic()
        listed = inventory.listed()
        seen = [inventory.entry(model) for model in inventory.models]  # with expected speeds
        self.post_message(self.Seen([*seen, *listed]))
        self.post_message(self.Seen([*inventory.judged(inventory.models), *listed], complete=True))

    @on(Seen)
    def _show(self, message: Seen) -> None:
        self._scanning = not message.complete
        known = {} if message.complete else self._entries  # or the cursor would lose its entry
        self._entries = known | {entry.key: entry for entry in message.entries}
        target = next((entry.key for entry in message.entries if entry.now == "target"), None)
        if target and not self._started:
            self._started = True
            self._wanted = self._wanted or target
        self._refill()

    def add(self, entry: ModelEntry) -> None:
        """Insert an entry at the top, and put the cursor onto it."""
        self._filter, self._wanted = "", entry.key
        self._entries = {entry.key: entry} | self._entries
        self._refill()

    def narrow(self, text: str) -> None:
        """Show only entries that match a filter."""
        self._filter = text
        self._refill()

    def go_to(self, key: str) -> bool:
        """Put the cursor onto an entry; return whether it is listed."""
        if any(option.id == key for option in self.options):
            self.highlighted = self.get_option_index(key)
            return True
        return False

    def _refill(self) -> None:
        """List everything again, keeping the cursor and the scroll position."""
        current, scroll = self.current, self.scroll_offset
        self.clear_options()
        state = " · looking …" if self._scanning else "" if self.usable else " · no model found"
        installed = [entry for entry in self._entries.values() if entry.here is not None]
        first = self._first_choices()
        available = [e for e in self._entries.values() if e.here is None and e not in first]
        options = [
            *self._group(
                FIRST, [replace(e, role=role) for e, role in zip(first, _ROLES, strict=False)]
            ),
            *self._group(INSTALLED + state, installed, always=True),
            *self._group(AVAILABLE, available),
        ]
        nothing = "Looking …" if self._scanning else "Nothing found. Esc shows all."
        self.add_options(options or [Option(Content(nothing), disabled=True)])
        if self._wanted and self.go_to(self._wanted):
            self._wanted = None
        elif current is None or not self.go_to(current.key):
            self.action_first()
        else:
            self.scroll_to(y=scroll.y, animate=False)
            self.call_after_refresh(self.scroll_to_highlight)

    def on_resize(self) -> None:
        """Fit the lines and the titles to the new width."""
        self._refill()
        self.heading.update(heading(self.row_width))

    def _first_choices(self) -> list[ModelEntry]:
        """Return the small and the larger model that a machine without any is offered first."""
        if self._scanning or self.usable or machine.memory().total < LARGE_MEMORY:
            return []
        names = (catalog.DEFAULT.target.name, catalog.LARGER.name)
        return [self._entries[name] for name in names if name in self._entries]

    def _group(
        self, title: str, entries: Iterable[ModelEntry], always: bool = False
    ) -> list[Option]:
        shown = [entry for entry in entries if entry.matches(self._filter)]
        shown.sort(key=lambda entry: entry.is_unusable)
        if not shown and (not always or self._filter):
            return []
        head = Option(Content.styled(title, "bold $text-accent"), disabled=True)
        return [head, *(Option(row(entry, self.row_width), id=entry.key) for entry in shown)]


def columns(width: int) -> dict[str, int]:
    """Return the columns that fit, with their cells; the role takes the rest, if that suffices."""
    others = {title: cells for title, cells, min_width in COLUMNS if width >= min_width}
    if width >= WIDE:
        others["Memory"] = SIZE + 1 + VERDICT
    else:
        others["Memory"] = VERDICT if width >= NARROW else 6
    free = width - sum(cells + 2 for cells in others.values()) - 2  # for the name and the role
    beside_role = free - NOW if free >= NOW + LEAST_NAME else free  # too narrow for a role
    name = min(MOST_NAME, max(LEAST_NAME, free - ROLE, min(NAME, beside_role)))
    return {"Model": name, **others} | ({"Role": free - name} if free - name >= NOW else {})


def row(entry: ModelEntry, width: int) -> Content:
    """Return the row of an entry."""
    return Content("  ").join(_cell(entry, *column) for column in columns(width).items())


def _cell(entry: ModelEntry, title: str, cells: int) -> Content:
    """Return the content of a column in exactly `cells` cells."""
    model, fit, muted = entry.model, entry.fit, "$foreground-muted"
    match title:
        case "Model":
            return Content.styled(fit_width(model.name, cells), "bold" if entry.now else "")
        case "Size":
            return Content.styled(f"{size(model.size) if model.size else '?':>{cells}}", muted)
        case "Tokens/s":
            speed = str(entry.expected.tokens_per_s) if entry.expected else MISSING
            return Content.styled(f"{speed:>{cells}}", muted)
        case "Weights":
            return Content.styled(fit_width(model.weights, cells), muted)
        case "Where":
            return Content.styled(fit_width(entry.origin, cells), muted)
        case "Role":
            fits = len(entry.role) <= cells or entry.role not in PURPOSES.values()
            role = entry.role if fits else entry.role.partition(",")[0]
            return Content.styled(safe(role), entry.style).truncate(cells, ellipsis=True)
    if fit is None:
        return Content(" " * cells)
    word = fit.verdict if cells >= VERDICT else SHORT[fit.verdict]
    verdict = Content.styled(word.ljust(min(cells, VERDICT)), STYLES[fit.verdict])
    return Content(f"{size(fit.needed):>{SIZE}} ") + verdict if cells > VERDICT else verdict


def heading(width: int) -> Content:
    """Return the titles of the columns."""
    titles = [
        title.rjust(cells) if title in ("Size", "Tokens/s") else title.ljust(cells)
        for title, cells in columns(width).items()
    ]
    return Content.styled("  ".join(titles), "$foreground-muted bold")


def fit_width(text: str, width: int) -> str:
    """Return a text in exactly `width` cells; a longer one loses its middle."""
    text = safe(text)
    if cell_len(text) > width and text.isascii():
        head = (width - 1) // 3
        return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
    return set_cell_size(text, width)
