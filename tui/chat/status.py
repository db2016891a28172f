"""The status line: whether guesses are made, and what they bring."""

from dataclasses import dataclass, replace
from typing import Any

from textual.content import Content
from textual.widgets import Static

from assistant.events import Decoded
from assistant.request import Mode
from tui.chat.panel.panel_text import HUES, MUTED, NEARLY_FULL
from tui.figures import MODES
from tui.outlook import outlook
from tui.safe import safe
from tui.widgets.text_figures import gauge

BAR = 10


@dataclass(frozen=True, slots=True)
class Activity:
    """Something that takes a while, and its progress."""

    text: str
    fraction: float


@dataclass(frozen=True, slots=True)
class State:
    """Everything the line shows."""

    mode: Mode = "auto"
    drafting: bool = True  # whether there is something to guess with
    loaded: bool = False
    activity: Activity | None = None
    last: Decoded | None = None  # round
    is_beside_panel: bool = False  # which says what guessing has brought
    n_ctx: int = 0


class Status(Static):
    """Show a `State` in one line, whatever the width."""

    DEFAULT_CSS = """
    Status { height: 1; padding: 0 1; background: $panel; color: $text-muted; text-wrap: nowrap; }
    """

    def __init__(self) -> None:
        super().__init__(id="status", markup=False)
        self.state = State()

    def show(self, **changes: Any) -> None:
        """Change some fields of the state."""
        self.state = replace(self.state, **changes)
        self.update(line(self.state, self.content_size.width), layout=False)

    def on_resize(self) -> None:
        """Fit the line to the new width."""
        self.show()


def line(state: State, width: int) -> Content:
    """Return what fits into `width` cells, the most important parts first."""
    able, hue = state.drafting or state.mode == "ars", _hue(state)
    name = MODES[state.mode] if able else "nothing can guess"
    chip = Content.styled(f" {name} ", f"bold $text-{hue} on ${hue}-muted")
    parts = [chip]
    for part in _parts(state):
        if sum(shown.cell_length + 2 for shown in parts) + part.cell_length <= width:
            parts.append(part)
    return Content("  ").join(parts)


def _hue(state: State) -> str:
    return "primary" if state.mode == "ars" else "success"


def _parts(state: State) -> list[Content]:
    if state.activity is not None:
        fraction = min(max(state.activity.fraction, 0.0), 1.0)
        return [
            Content.styled(f"{gauge(fraction, BAR)} {fraction:>4.0%}", "$accent"),
            Content(safe(state.activity.text)),
        ]
    if state.last is None:
        return [Content.styled("ready" if state.loaded else "no model", MUTED)]
    found, speed = outlook(state.last), f"{state.last.stats.tokens_per_s:.1f} tokens/s"
    is_said = bool(found.worth) and not state.is_beside_panel
    worth = [Content.styled(found.worth, HUES[found.saves])] if is_said else []
    full = _fraction(state) > NEARLY_FULL
    rest = [_context(state), Content(speed)]
    return [*worth, *(rest if full else reversed(rest))]


def _fraction(state: State) -> float:
    used = state.last.context_used if state.last else 0
    return used / state.n_ctx if state.n_ctx else 0.0


def _context(state: State) -> Content:
    used, fraction = state.last.context_used if state.last else 0, _fraction(state)
    text = f"context {used:,}/{state.n_ctx:,}"
    return Content.styled(text, "$text-warning" if fraction > NEARLY_FULL else "")
