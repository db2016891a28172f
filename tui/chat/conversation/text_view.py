"""A text that is read while it streams: formatted, each token in the style of its origin."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from time import monotonic
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content, Span
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from assistant.events import Origin, Step, Token
from tui.app.textual_private import paint
from tui.widgets.token_styles import GHOST, Kind, Run, TokenKinds, runs_of, styles

if TYPE_CHECKING:  # Markdown is for later than the first frame
    from tui.chat.conversation.fragment import Fragment
    from tui.chat.conversation.text_layout import TextLayout

PERIOD, SHARE = 1 / 26, 10
"""Seconds between two repaints, in each of which half of what waits is shown: rounds bring several
tokens at once, and text that flows reads better than text that jerks. And how many times as long
as a repaint takes the next one waits at least: a large table is laid out again as a whole.
"""
MAX_FLOWING_RUNS = 64
"""Runs that wait; more of them are not a text that flows."""
ROOM = 5
"""What part of the screen's height a growing text makes room for at once. While it fills that, no
other line has to be painted, and what is being read stands still.
"""
AT_ONCE = 20_000
"""Characters that are laid out together; the rest of a very long text follows bit by bit."""
CARET = "▍"
FOUND = "reverse"  # the style of words that were searched for


class TextView(Widget):
    """Show rounds as they come; rejected drafts too, struck through, where they are wanted.

    It is one widget, however long the text; a round paints the lines that it changes.
    """

    DEFAULT_CSS = "TextView { height: auto; }"

    colours: reactive[bool] = reactive(True, init=False)
    """Whether tokens have the styles of their origins."""
    ghosts: reactive[bool] = reactive(False, init=False)
    """Whether rejected drafts are shown."""

    marks: reactive[Sequence[tuple[int, int, str]]] = reactive((), init=False)
    """Where parts of the text begin and end that have a style of their own, and these."""

    class Explained(Message):
        """There is something new for a legend to explain."""

    def __init__(self, growing: bool = True, formatted: bool = True) -> None:
        super().__init__()
        self.lines: list[Fragment] = []
        """What is shown, without the colours of tokens."""
        self.growing = growing
        """Whether more is to come, which a caret shows."""
        self._formatted = formatted
        self._height = 0  # lines that there is room for
        self._steps: list[Step] = []
        self._coming: deque[Run] = deque()  # what is not shown yet
        self._layout: TextLayout | None = None  # from when the width is known
        self._kinds = TokenKinds()
        self._painted, self._pause = 0.0, PERIOD
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        """Show what came before there was a place for it."""
        self._begin_anew()

    @property
    def text(self) -> str:
        """The text that is shown, as it is written."""
        return "".join(step.text or step.thought for step in self._steps)

    @property
    def kinds(self) -> set[Kind]:
        """What there is to be explained by a legend."""
        shown = {GHOST} if self.ghosts and any(step.rejected for step in self._steps) else set()
        return shown | self._kinds.all if self.colours else shown

    def add(self, step: Step) -> None:
        """Append a round; it is painted soon."""
        self._steps.append(step)
        self._coming.extend(runs_of(step, self.ghosts))
        wait = self._painted + self._pause - monotonic()
        if wait <= 0:
            self._paint()
        elif self._timer is None:
            self._timer = self.set_timer(wait, self._paint)

    def show(self, steps: Iterable[Step]) -> None:
        """Show these rounds and no others."""
        self._steps = list(steps)
        self._begin_anew()

    def grow(self, growing: bool) -> None:
        """Paint what there is; with a caret while more is to come."""
        self.growing = growing
        self._paint()

    def watch_ghosts(self) -> None:
        """Lay everything out again."""
        self._begin_anew()

    def watch_colours(self) -> None:
        """Explain the colours, or no longer."""
        self.post_message(self.Explained())

    def mark(self, words: Sequence[str]) -> int | None:
        """Mark words, and no others, wherever they stand; return the first position, if any."""
        matches = re.finditer("|".join(map(re.escape, words)), self.text, re.IGNORECASE)
        spans = [(*match.span(), FOUND) for match in matches]
        self.marks = [*(mark for mark in self.marks if mark[2] != FOUND), *spans]
        return spans[0][0] if spans else None

    def line_at(self, position: int) -> int:
        """Return the line that shows a position of the text, or what comes after it."""
        self.on_resize()  # a new width may be known before there is an event
        lines = enumerate(self.lines)
        return next((y for y, line in lines if max(line.positions, default=-1) >= position), 0)

    def position_at(self, y: int) -> int:
        """Return the first position of the text that a line shows, or one after it."""
        shown = (at for line in self.lines[y:] for at in line.positions if at >= 0)
        return next(shown, 0)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines; those of another width are laid out again."""
        if width and (self._layout is None or self._layout.width != width):
            self._lay_out(width)
        self._height = len(self.lines)
        if self.growing:
            step = viewport.height // ROOM + 1
            self._height += -self._height % step
        return self._height

    def on_resize(self) -> None:
        """Lay out for the width there is: Textual asks for no height that it remembers."""
        width, height = self.size
        if not width or self._layout is None or self._layout.width == width:
            return
        self._lay_out(width)
        self._height = height
        self.refresh(layout=len(self.lines) > height)

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
        if self.colours:
            content = self._kinds.coloured(*line, styles(self.app.no_color))
        for start, end, style in self.marks:
            marked = (i for i, at in enumerate(line.positions) if start <= at < end)
            marks += [Span(index, index + 1, style) for index in marked]
        return Content(content.plain, [*content.spans, *marks])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the part of the text that is selected, as it is written."""
        selected = list[int]()
        for y, line in enumerate(self.lines):
            if (span := selection.get_span(y)) is not None:
                start, end = span
                selected += line.positions[start : end if end >= 0 else None]
        known = [position for position in selected if position >= 0]
        if not known:
            return None
        shown = [at for line in self.lines for at in line.positions if at >= 0]
        begin = min(known) if min(known) > min(shown) else 0  # all of it has its marks, too
        end = max(known) + 1 if max(known) < max(shown) else len(self.text)
        return self.text[begin:end], "\n"

    def _begin_anew(self) -> None:
        """Lay everything out, once the width is known."""
        if self._layout is not None:
            self._lay_out(self._layout.width)
        if self.is_mounted:
            self.refresh(layout=True)

    def _lay_out(self, width: int) -> None:
        from tui.chat.conversation.text_layout import TextLayout

        ansi, dark = self.app.native_ansi_color, self.app.current_theme.dark
        self._layout = TextLayout(width, self._formatted, ansi, dark)
        self._height = 0  # of another width it would leave blank lines
        self.lines, self._kinds = [], TokenKinds()
        self._coming = deque(run for step in self._steps for run in runs_of(step, self.ghosts))
        self._advance(self._layout)

    def _paint(self) -> None:
        """Show some of what waits, and paint what it changes."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._layout is None or not self.is_attached:  # another conversation may be opened
            return
        changes = self._advance(self._layout)
        missing = len(self.lines) - self._height
        if missing > 0 or (missing < 0 and not self.growing):
            lines = [Region(0, y, self.size.width, 1) for y in changes]
            self.refresh(*lines, layout=True)
            return
        paint(self, changes)

    def _advance(self, layout: "TextLayout") -> dict[int, int]:
        """Lay out some of what waits; return the lines that change, and from which cell on."""
        self._painted = monotonic()
        runs = self._next()
        if self._kinds.add(runs):
            self.post_message(self.Explained())
        stable = layout.add(runs)
        before, after = self.lines[stable:], layout.lines[stable:]
        if self.growing:
            after[-1] = after[-1].followed_by(Content.styled(CARET, "$accent"))
        elif after and not after[-1].content:
            after.pop()  # a line break at the end is the layout's
        self.lines[stable:] = after
        changes: dict[int, int] = {}
        for y, (old, new) in enumerate(zip_longest(before, after), stable):
            if new is not None and (old != new or not old.content.is_same(new.content)):
                changes[y] = _unchanged(old.content, new.content) if old is not None else 0
        share = 1 if self._coming else SHARE
        self._pause = max(PERIOD, share * (monotonic() - self._painted))
        if self._coming:
            self._timer = self.set_timer(self._pause, self._paint)
        return changes

    def _next(self) -> list[Run]:
        """Take what is shown next: half of flowing text, else all up to a limit."""
        count = len(self._coming)
        if self.growing and count <= MAX_FLOWING_RUNS:
            count = count // 2 + 1
        runs: list[Run] = []
        left = AT_ONCE
        while self._coming and count and left:
            text, kind = self._coming.popleft()
            if len(text) > left:
                self._coming.appendleft((text[left:], kind))
            runs.append((text[:left], kind))
            count, left = count - 1, max(0, left - len(text))
        return runs


def whole(text: str) -> Step:
    """Return a text as one round, when it is not known which tokens it came from."""
    return Step((Token(0, text, Origin.TARGET, None, 1.0, None),))


def _unchanged(before: Content, after: Content) -> int:
    """Return in how many cells at the beginning two lines have the same words and styles."""
    pairs = enumerate(zip(before.plain, after.plain, strict=False))
    end = next((i for i, (old, new) in pairs if old != new), len(before))
    end = after.plain[:end].rfind(" ") + 1
    same = before[:end].is_same(after[:end])
    return cell_len(after.plain[:end]) if same else 0
