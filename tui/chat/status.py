"""The lines above and below a conversation: its models, and the state of speculation."""

from dataclasses import dataclass, replace
from typing import Any

from textual.containers import Horizontal
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from assistant.events import Decoded, Ready
from assistant.request import Mode
from models.errors import StorageError
from tui.chat.panel import HUES, NEARLY_FULL
from tui.formatting import by_parts, gauge
from tui.labels import MODES, model_name
from tui.outlook import outlook
from tui.reading import Activity
from tui.safe import safe
from tui.widgets.lines import MUTED

BAR, NARROW = 10, 56
"""Cells of an activity's bar, and of the narrowest line that has one."""


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
        self._program = Static("specchat", id="name", markup=False)
        self._models = Static("", id="models", markup=False)
        self._text = ""
        super().__init__(self._program, self._models, id="banner")

    def show(self, text: str) -> None:
        """Show a text instead of the models."""
        self._text = safe(text)
        self.on_resize()

    def on_resize(self) -> None:
        """Show as many parts of the text as fit."""
        self._models.update(by_parts(self._text, self.size.width - len("  specchat  ")))

    def saved(self) -> None:
        """End the warning: the conversation that is shown now is saved."""
        self._program.remove_class("warning").update("specchat")

    def not_saved(self, error: StorageError) -> None:
        """Warn once that nothing is saved any more."""
        if not self._program.has_class("warning"):
            self._program.add_class("warning").update("specchat · not saved")
            text = f"{error} The conversation continues, but is not saved; copy what you need."
            self.notify(text, severity="error", timeout=30)

    def ready(self, ready: Ready) -> None:
        """Name the loaded models."""
        guesses = f"guesses: {model_name(ready.draft.name)}" if ready.draft else "no model guesses"
        self.show(f"answers: {model_name(ready.target.name)} · {guesses}")
        paths = "\n".join(str(m.path) for m in (ready.target, ready.draft) if m)
        self._models.tooltip = Content(safe(paths))  # a str would be read as markup


@dataclass(frozen=True, slots=True)
class State:
    """Everything the line shows."""

    mode: Mode = "auto"
    drafting: bool = True  # whether there is a draft source
    loaded: bool = False
    activity: Activity | None = None
    last: Decoded | None = None  # round
    is_beside_panel: bool = False  # the panel shows the gain
    n_ctx: int = 0
    tools: bool = False  # whether this conversation has tools


class Status(Widget):
    """Show a `State` in one line."""

    DEFAULT_CSS = """
    Status { height: 1; padding: 0 1; background: $panel; color: $text-muted; text-wrap: nowrap; }
    """

    state: reactive[State] = reactive(State())

    def show(self, **changes: Any) -> None:
        """Change fields of the state, and show it."""
        self.state = replace(self.state, **changes)

    def render(self) -> Content:
        """Draw the line."""
        return line(self.state, self.content_size.width)


def line(state: State, width: int) -> Content:
    """Return the parts of the state that fit into `width` cells, the most important first."""
    able = state.drafting or state.mode == "ars"
    hue = "primary" if state.mode == "ars" else "success"
    name = MODES[state.mode] if able else "nothing can guess"
    chip = Content.styled(f" {name} ", f"bold $text-{hue} on ${hue}-muted")
    is_wide = width >= NARROW
    tools = state.tools and (is_wide or not state.activity)
    parts = [chip, *([Content.styled("tools on", "$text-accent")] if tools else [])]
    for part in _parts(state, is_wide):
        free = width - sum(shown.cell_length + 2 for shown in parts)
        if part.cell_length <= free or (state.activity and free >= 16):  # enough to be understood
            parts.append(part.truncate(free, ellipsis=True))
    return Content("  ").join(parts)


def progress(activity: Activity, has_bar: bool = True) -> list[Content]:
    """Return an activity as a percentage, usually with a bar, and a text."""
    fraction = min(max(activity.fraction, 0.0), 1.0)
    share = f"{gauge(fraction, BAR)} {fraction:>4.0%}" if has_bar else f"{fraction:.0%}"
    return [Content.styled(share, "$accent"), Content(safe(activity.text))]


def _parts(state: State, is_wide: bool) -> list[Content]:
    if state.activity is not None:
        return progress(state.activity, is_wide)
    if state.last is None:
        return [Content.styled("ready" if state.loaded else "no model", MUTED)]
    summary, speed = outlook(state.last), f"{state.last.stats.tokens_per_s:.1f} tokens/s"
    shows_gain = bool(summary.gain) and not state.is_beside_panel
    gain = [Content.styled(summary.gain, HUES[summary.saves])] if shows_gain else []
    used, n_ctx = state.last.context_used, state.n_ctx
    full = n_ctx > 0 and used / n_ctx > NEARLY_FULL
    context = Content.styled(f"context {used:,}/{n_ctx:,}", "$text-warning" if full else "")
    return [*gain, context, Content(speed)] if full else [*gain, Content(speed), context]
