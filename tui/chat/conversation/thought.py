"""The model's reasoning before its answer: one line, or all of it, dim."""

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.reactive import reactive
from textual.widgets import Static

from assistant.events import Stats, Step
from tui.labels import plural
from tui.safe import safe
from tui.text.text_view import TextView, as_step

LAST = 160
"""Characters of the end of a thought that may be shown while it grows."""


class Thought(Vertical):
    """Show a thought folded to a line that follows its end, or open; hidden while it is empty."""

    DEFAULT_CSS = """
    Thought {
        height: auto; margin: 0 0 1 0; color: $text-muted; display: none;
        & > Static { height: 1; text-wrap: nowrap; text-overflow: ellipsis; text-style: italic; }
        & > TextView { padding: 0 0 0 2; display: none; }
        &.-open > TextView { display: block; }
    }
    """
    opened: reactive[bool] = reactive(False, init=False, toggle_class="-open")
    """Whether all of it is shown."""

    def __init__(self, text: str, stats: Stats | None, is_streaming: bool) -> None:
        super().__init__()
        self.text = text
        self.is_streaming = is_streaming
        """Whether more is to come."""
        self._stats = stats
        self._line = Static("", markup=False)
        self._view = TextView(is_streaming=False)
        self._view.show([as_step(text)])  # before it is mounted, rounds may be added
        self._update_line()

    def compose(self) -> ComposeResult:
        """Lay out the line, and the whole text below it."""
        yield self._line
        yield self._view

    def add(self, step: Step) -> None:
        """Append what a round added to the thought."""
        self.text += step.thought
        self._view.add(step)

    def clear(self) -> None:
        """Empty the thought, which may grow again."""
        self.text, self.is_streaming, self._stats = "", True, None
        self._view.show(())
        self._update_line()

    def show(self, steps: Iterable[Step]) -> None:
        """Show the rounds that the thought was decoded in."""
        self._view.show(steps)

    def show_stats(self, stats: Stats) -> None:
        """Show the tokens and the seconds of the thought so far."""
        if self.is_streaming and self.text:
            self._stats = stats
            self._update_line()

    def set_streaming(self, is_streaming: bool) -> None:
        """Set whether more is to come."""
        if is_streaming is not self.is_streaming:
            self.is_streaming = is_streaming
            self._update_line()

    def watch_opened(self) -> None:
        """Show all of it, or the line alone."""
        self._update_line()

    @property
    def line(self) -> str:
        """The thought in a line."""
        mark, stats = "▾" if self.opened else "▸", self._stats
        seconds = f"{stats.thought_s:.0f} s" if stats and stats.thought_s else ""
        tokens = plural(stats.thought_tokens, "token") if stats and stats.thought_tokens else ""
        if not self.is_streaming:
            title = f"{mark} Thought for {seconds}" if seconds else f"{mark} Thought"
            return " · ".join(filter(None, (title, tokens)))
        last = "" if self.opened else " ".join(self.text[-LAST:].split())[-LAST // 2 :]
        parts = (f"{mark} Thinking", seconds, tokens, f"…{last}" if last else "")
        return " · ".join(filter(None, parts))

    def _update_line(self) -> None:
        self.display = bool(self.text.strip())
        self._line.update(safe(self.line), layout=False)
