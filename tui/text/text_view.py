"""A text that is read while it streams: formatted, each token in the style of its origin."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING

from textual.content import Content, Span
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from assistant.events import Origin, Step, Token
from tui.text.token_styles import GHOST, Kind, Run, runs_of, styles

if TYPE_CHECKING:  # Markdown is imported after the first frame
    from tui.text.fragment import Fragment
    from tui.text.text_layout import TextLayout

REPAINT_EVERY_S, PAUSE_FACTOR = 1 / 26, 10
"""Seconds between two repaints; the pause after a repaint is at least `PAUSE_FACTOR` times as long
as it took, because a large table is laid out again as a whole. A repaint shows half of the waiting
runs: a round brings several tokens at once, and a text that flows reads better than one that jerks.
"""
MAX_FLOWING_RUNS = 64
"""Waiting runs above which all are shown at once."""
RESERVED_FRACTION = 5
"""The height of a growing text is a multiple of a fifth of the screen. While the text fills the
reserved lines, no other widget is painted, and what is being read does not move.
"""
MAX_LAID_OUT = 20_000
"""Characters that are laid out together; the rest of a very long text follows step by step."""
CARET = "▍"
FOUND_STYLE = "reverse"  # the style of words that were searched for


class TextView(Widget):
    """Show rounds as they arrive, on request with the rejected drafts, struck through.

    It is one widget, however long the text; a round paints the lines that it changes.
    """

    DEFAULT_CSS = "TextView { height: auto; }"

    colours: reactive[bool] = reactive(True, init=False)
    """Whether tokens have the styles of their origins."""
    ghosts: reactive[bool] = reactive(False, init=False)
    """Whether rejected drafts are shown."""

    marks: reactive[Sequence[tuple[int, int, str]]] = reactive((), init=False)
    """Parts of the text with styles of their own: begin, end and style."""

    class KindsChanged(Message):
        """The kinds of tokens that a legend explains have changed."""

    def __init__(self, is_streaming: bool, formatted: bool = True) -> None:
        super().__init__()
        self.lines: list[Fragment] = []
        """The lines as they are shown, without the colours of tokens."""
        self.is_streaming = is_streaming
        """Whether more is to come, which a caret shows."""
        self._formatted = formatted
        self._height = 0  # of the widget, in lines
        self._steps: list[Step] = []
        self._waiting: deque[Run] = deque()  # runs that are not shown yet
        self._layout: TextLayout | None = None  # None until the width is known
        self._painted, self._pause = 0.0, REPAINT_EVERY_S
        self._timer: Timer | None = None

    @property
    def text(self) -> str:
        """The source of the text that is shown."""
        return "".join(step.text or step.thought for step in self._steps)

    @property
    def kinds(self) -> set[Kind]:
        """The kinds of tokens that are shown in a style of their own."""
        kinds = set(self._layout.kinds) if self.colours and self._layout else set()
        if self.ghosts and any(step.rejected for step in self._steps):
            kinds.add(GHOST)
        return kinds

    def add(self, step: Step) -> None:
        """Append a round; it is painted soon."""
        self._steps.append(step)
        self._waiting.extend(runs_of(step, self.ghosts))
        wait = self._painted + self._pause - monotonic()
        if wait <= 0:
            self._paint()
        elif self._timer is None:
            self._timer = self.set_timer(wait, self._paint)

    def show(self, steps: Iterable[Step]) -> None:
        """Show these rounds and no others."""
        self._steps = list(steps)
        self._lay_out_again()

    def set_streaming(self, is_streaming: bool) -> None:
        """Set whether more is to come; if not, all of the text is shown, without the caret."""
        self.is_streaming = is_streaming
        self._paint()

    def watch_ghosts(self) -> None:
        """Lay everything out again."""
        self._lay_out_again()

    def watch_colours(self) -> None:
        """Announce that other kinds of tokens are shown."""
        self.post_message(self.KindsChanged())

    def mark(self, words: Sequence[str]) -> int | None:
        """Mark all occurrences of words, and no others; return the first position, if any."""
        matches = re.finditer("|".join(map(re.escape, words)), self.text, re.IGNORECASE)
        spans = [(*match.span(), FOUND_STYLE) for match in matches]
        self.marks = [*(mark for mark in self.marks if mark[2] != FOUND_STYLE), *spans]
        return spans[0][0] if spans else None

    def line_at(self, position: int) -> int:
        """Return the first line that shows a position of the text or a later one."""
        lines = enumerate(self.lines)
        return next((y for y, line in lines if max(line.positions, default=-1) >= position), 0)

    def position_at(self, y: int) -> int:
        """Return the first position of the text that a line shows, or one after it."""
        positions = (position for line in self.lines[y:] for position in line.positions)
        return next((position for position in positions if position >= 0), 0)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines; those of another width are laid out again."""
        if width and (self._layout is None or self._layout.width != width):
            self._lay_out(width)
        self._height = len(self.lines)
        if self.is_streaming:
            step = viewport.height // RESERVED_FRACTION + 1
            self._height = ceil(self._height / step) * step
        return self._height

    def render_line(self, y: int) -> Strip:
        """Render a line."""
        style, selection = self.visual_style, self.text_selection
        if y >= len(self.lines):
            return Strip.blank(self.size.width, style.rich_style)
        line = self.coloured(self.lines[y])
        if selection and (span := selection.get_span(y)) is not None:
            start, end = span
            mark = self.screen.get_visual_style("screen--selection")
            line = line.stylize(mark, start, end if end >= 0 else None)
        strip = Strip(line.render_segments(style))
        return strip.extend_cell_length(self.size.width, style.rich_style).apply_offsets(0, y)

    def coloured(self, line: "Fragment") -> Content:
        """Return a line with the styles of its tokens over those of its format."""
        content, marks = line.content, list[Span]()
        if self.colours and self._layout:
            content = self._layout.coloured(line, styles(self.app.no_color))
        for start, end, style in self.marks:
            marked = (i for i, at in enumerate(line.positions) if start <= at < end)
            marks += [Span(index, index + 1, style) for index in marked]
        return Content(content.plain, [*content.spans, *marks])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the source of the part of the text that is selected."""
        selected = list[int]()
        for y, line in enumerate(self.lines):
            if (span := selection.get_span(y)) is not None:
                start, end = span
                selected += line.positions[start : end if end >= 0 else None]
        positions = [position for position in selected if position >= 0]
        if not positions:
            return None
        # What stands before the first and after the last visible character belongs to them.
        visible = [at for line in self.lines for at in line.positions if at >= 0]
        begin, last = min(positions), max(positions)
        begin = begin if begin > min(visible) else 0
        end = last + 1 if last < max(visible) else len(self.text)
        return self.text[begin:end], "\n"

    def _lay_out_again(self) -> None:
        if self._layout is not None:
            self._lay_out(self._layout.width)
            self.refresh(layout=True)

    def _lay_out(self, width: int) -> None:
        from tui.text.text_layout import TextLayout

        ansi, dark = self.app.native_ansi_color, self.app.current_theme.dark
        self._layout = TextLayout(width, self._formatted, ansi, dark)
        self.lines = []
        self._waiting = deque(run for step in self._steps for run in runs_of(step, self.ghosts))
        self._advance(self._layout)

    def _paint(self) -> None:
        """Show some of the waiting runs, and paint the lines that change."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._layout is None or not self.is_attached:  # another conversation may be open
            return
        lines = [Region(0, y, self.size.width, 1) for y in self._advance(self._layout)]
        missing = len(self.lines) - self._height
        layout = missing > 0 or (missing < 0 and not self.is_streaming)
        if lines or layout:
            self.refresh(*lines, layout=layout)

    def _advance(self, layout: "TextLayout") -> list[int]:
        """Lay out some waiting runs; return the lines that change."""
        self._painted = monotonic()
        count = len(layout.kinds)
        stable = layout.add(self._pop_runs())
        if len(layout.kinds) > count:
            self.post_message(self.KindsChanged())
        before, after = self.lines[stable:], layout.lines[stable:]
        if self.is_streaming:
            after[-1] = after[-1].followed_by(Content.styled(CARET, "$accent"))
        elif after and not after[-1].content:
            after.pop()  # a line break at the end is the layout's
        self.lines[stable:] = after
        changes = [
            y
            for y, (old, new) in enumerate(zip_longest(before, after), stable)
            if new is not None and (old != new or not old.content.is_same(new.content))
        ]
        factor = 1 if self._waiting else PAUSE_FACTOR
        self._pause = max(REPAINT_EVERY_S, factor * (monotonic() - self._painted))
        if self._waiting:
            self._timer = self.set_timer(self._pause, self._paint)
        return changes

    def _pop_runs(self) -> list[Run]:
        """Remove and return the runs to show next: all up to a limit, of flowing text half."""
        count = len(self._waiting)
        if self.is_streaming and count <= MAX_FLOWING_RUNS:
            count = count // 2 + 1
        runs: list[Run] = []
        budget = MAX_LAID_OUT
        while self._waiting and count and budget:
            text, kind = self._waiting.popleft()
            if len(text) > budget:
                self._waiting.appendleft((text[budget:], kind))
            runs.append((text[:budget], kind))
            count, budget = count - 1, max(0, budget - len(text))
        return runs


def as_step(text: str) -> Step:
    """Return a text as the only token of one round, where its own tokens are not known."""
    return Step((Token(0, text, Origin.TARGET, None, 1.0, None),))
