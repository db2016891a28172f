"""The lines above and below a conversation: its models, and the state of speculation."""

from dataclasses import dataclass, replace
from typing import Any

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from assistant.events import Decoded, Ready
from assistant.request import Mode
from models.errors import StorageError
from tui.chat.panel import HUES, NEARLY_FULL
from tui.formatting import by_parts, gauge
from tui.labels import MODES, model_name
from tui.outlook import outlook
from tui.reading import Activity
from tui.safe import safe
from tui.widgets.lines import MUTED, pair

BAR, NARROW, MIN_ACTIVITY = 10, 56, 16
"""Cells of an activity's bar, of the narrowest line that has one, and of what can be understood."""


class Banner(Widget):
    """Name the model that answers and the one that guesses."""

    DEFAULT_CSS = """
    Banner {
        height: 1; padding: 0 1; background: $panel; color: $text-muted;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    text: reactive[str] = reactive("")
    """The models, or why there are none; as many parts are shown as fit."""
    is_saved: reactive[bool] = reactive(True)
    """Whether the conversation that is shown is saved."""

    def render(self) -> Content:
        """Draw the line."""
        name, hue = "specchat", "$text-accent"
        if not self.is_saved:
            name, hue = "specchat · not saved", "$text-error"
        width = self.content_size.width
        models = Content(by_parts(safe(self.text), width - len(name) - 4))
        return pair(Content.styled(name, f"bold {hue}"), models, width)

    def not_saved(self, error: StorageError) -> None:
        """Warn once that nothing is saved any more."""
        if self.is_saved:
            self.is_saved = False
            text = f"{error} The conversation continues, but is not saved; copy what you need."
            self.notify(text, severity="error", timeout=30)

    def ready(self, ready: Ready) -> None:
        """Name the loaded models."""
        guesses = f"guesses: {model_name(ready.draft.name)}" if ready.draft else "no model guesses"
        self.text = f"answers: {model_name(ready.target.name)} · {guesses}"
        paths = "\n".join(str(m.path) for m in (ready.target, ready.draft) if m)
        self.tooltip = Content(safe(paths))  # a str would be read as markup


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
    is_able = state.drafting or state.mode == "ars"
    hue = "primary" if state.mode == "ars" else "success"
    name = MODES[state.mode] if is_able else "nothing can guess"
    chip = Content.styled(f" {name} ", f"bold $text-{hue} on ${hue}-muted")
    is_wide = width >= NARROW
    tools = state.tools and (is_wide or not state.activity)
    parts = [chip, *([Content.styled("tools on", "$text-accent")] if tools else [])]
    for part in _parts(state, is_wide):
        free = width - sum(other.cell_length + 2 for other in parts)
        if part.cell_length <= free or (state.activity and free >= MIN_ACTIVITY):
            parts.append(part.truncate(free, ellipsis=True))
    return Content("  ").join(parts)


def activity_parts(activity: Activity, has_bar: bool = True) -> list[Content]:
    """Return an activity as a percentage, usually with a bar, and a text."""
    fraction = min(max(activity.fraction, 0.0), 1.0)
    share = f"{gauge(fraction, BAR)} {fraction:>4.0%}" if has_bar else f"{fraction:.0%}"
    return [Content.styled(share, "$accent"), Content(safe(activity.text))]


def _parts(state: State, is_wide: bool) -> list[Content]:
    if state.activity is not None:
        return activity_parts(state.activity, is_wide)
    if state.last is None:
        return [Content.styled("ready" if state.loaded else "no model", MUTED)]
    summary, speed = outlook(state.last), f"{state.last.stats.tokens_per_s:.1f} tokens/s"
    shows_gain = bool(summary.gain) and not state.is_beside_panel
    gain = [Content.styled(summary.gain, HUES[summary.saves])] if shows_gain else []
    used, n_ctx = state.last.context_used, state.n_ctx
    full = n_ctx > 0 and used / n_ctx > NEARLY_FULL
    context = Content.styled(f"context {used:,}/{n_ctx:,}", "$text-warning" if full else "")
    return [*gain, context, Content(speed)] if full else [*gain, Content(speed), context]
