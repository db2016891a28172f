"""An answer in the terminal's scrollback: blocks that are finished, and the one that is open."""

from collections.abc import Iterable, Sequence

from textual.content import Content

from tui.text.fragment import Fragment
from tui.text.text_layout import TextLayout
from tui.text.token_styles import Run, Styles


class StreamingText:
    """Append runs of tokens; each finished line is returned once, for the scrollback.

    A resize lays out again the lines that are not in the scrollback yet.
    """

    def __init__(self, width: int, styles: Styles, ansi: bool, dark: bool) -> None:
        self._styles, self._ansi, self._dark = styles, ansi, dark
        self._runs: list[Run] = []
        self._position = 0  # the text before it is in the scrollback
        self.resize(width)

    def resize(self, width: int) -> None:
        """Lay the lines out for another width."""
        self.width = width
        self._layout = TextLayout(width, ansi=self._ansi, dark=self._dark)
        self._layout.add(self._runs)
        lines = self._layout.lines
        pending = (
            y for y, line in enumerate(lines) if max(line.positions, default=-1) >= self._position
        )
        self._next = next(pending, len(lines)) if self._position else 0
        while self._next > 0 and not lines[self._next - 1].content:
            self._next -= 1  # a blank line belongs to the block after it

    def add(self, runs: Sequence[Run]) -> None:
        """Append runs."""
        self._runs += runs
        self._layout.add(runs)

    @property
    def text(self) -> str:
        """The source of the text so far."""
        return self._layout.text

    def finished(self, over: bool = False) -> list[Content]:
        """Return the finished lines since the last call; all others too if it is `over`."""
        end = len(self._layout.lines) if over else self._layout.stable
        lines = self._layout.lines[self._next : end]
        if over and lines and not lines[-1].content:
            lines.pop()  # a line break at the end is the layout's
        self._next = max(self._next, end)
        positions = [position for line in lines for position in line.positions]
        self._position = max([self._position - 1, *positions]) + 1
        return self._coloured(lines)

    def open_lines(self, limit: int) -> list[Content]:
        """Return the last unfinished lines, `limit` of them at most."""
        return self._coloured(self._layout.lines[self._next :][-limit:] if limit > 0 else [])

    def _coloured(self, lines: Iterable[Fragment]) -> list[Content]:
        return [self._layout.coloured(line, self._styles) for line in lines]
