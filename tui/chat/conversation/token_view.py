"""The tokens of an answer as they stream, each in the style of where it came from."""

from collections import deque
from collections.abc import Iterable
from itertools import zip_longest
from time import monotonic

from rich.cells import cell_len
from rich.segment import Segment
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import Reactive, reactive
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget

from assistant.events import Origin, Step, Token
from tui.app.textual_private import paint
from tui.chat.conversation.line_flow import Flow
from tui.widgets.token_styles import Kind, Run, runs_of, styles

PERIOD = 1 / 26
"""Seconds between two repaints, in each of which half of what waits is shown: rounds bring several
tokens at once, and text that flows reads better than text that jerks.
"""
MAX_FLOWING_RUNS = 64
"""Runs that wait; more of them are not a text that flows."""
ROOM = 5
"""What part of the screen's height a growing text makes room for at once. While it fills that, no
other line has to be painted, and what is being read stands still.
"""
AT_ONCE = 30_000
"""Characters that are laid out together; the rest of a very long text follows bit by bit."""

CARET = Content.styled("▍", "$accent")


class Still(Widget):
    """Let a new size pass without another layout.

    Textual lays the screen out a second time when a layout has changed a size. For text that grows
    with every round that is half of the work, and it changes nothing.
    """

    virtual_size = Reactive(Size(0, 0))


class TokenView(Still):
    """Show rounds as they come; rejected drafts too, struck through, where they are wanted.

    It is one widget, however long the text; a round paints the lines that it changes.
    """

    DEFAULT_CSS = "TokenView { height: auto; }"

    ghosts: reactive[bool] = reactive(False, init=False)
    """Whether rejected drafts are shown."""

    class Explained(Message):
        """There is something new for a legend to explain."""

    def __init__(self, growing: bool = True) -> None:
        super().__init__()
        self.kinds: set[Kind] = set()
        """What there is to be explained by a legend."""
        self.lines: list[Content] = []
        """What is shown."""
        self.growing = growing
        """Whether more is to come, which a caret shows."""
        self._height = 0  # lines that there is room for
        self._steps: list[Step] = []
        self._coming: deque[Run] = deque()  # what is not shown yet
        self._flow: Flow | None = None  # from when the width is known
        self._strips: dict[int, tuple[Style, Strip]] = {}
        self._painted = 0.0
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        """Show what came before there was a place for it."""
        self._begin_anew()

    def add(self, step: Step) -> None:
        """Append a round; it is painted soon."""
        self._steps.append(step)
        self._coming.extend(runs_of(step, self.ghosts))
        wait = self._painted + PERIOD - monotonic()
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

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines; those of another width are laid out again."""
        if width and (self._flow is None or self._flow.width != width):
            self._lay_out(width)
        self._height = len(self.lines)
        if self.growing:
            room = viewport.height // ROOM + 1
            self._height += -self._height % room
        return self._height

    def on_resize(self) -> None:
        """Lay out for the width there is: Textual asks for no height that it remembers."""
        width, height = self.size
        if not width or self._flow is None or self._flow.width == width:
            return
        self._lay_out(width)
        self._height = height
        self.refresh(layout=len(self.lines) > height)

    def notify_style_update(self) -> None:
        """Take the colours of another theme."""
        self._strips.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """Render a line; one that was rendered before is not rendered again."""
        style, selection = self.visual_style, self.text_selection
        if y >= len(self.lines):
            return Strip.blank(self.size.width, style.rich_style)
        span = selection.get_span(y) if selection else None
        if span is not None:
            return self._rendered(y, style, span)
        known = self._strips.get(y)
        if known is None or known[0] != style:
            known = self._strips[y] = style, self._rendered(y, style)
        return known[1]

    def _rendered(self, y: int, style: Style, selected: tuple[int, int] | None = None) -> Strip:
        line = self.lines[y]
        if selected is not None:
            start, end = selected
            mark = self.screen.get_visual_style("screen--selection")
            line = line.stylize(mark, start, end if end >= 0 else None)
        parts = line.render(style, "")
        strip = Strip([Segment(text, part.rich_style) for text, part in parts])
        strip = strip.extend_cell_length(self.size.width, style.rich_style)
        return strip.apply_offsets(0, y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return what is selected, with the line breaks that the text has."""
        flow, text = self._flow, ""
        for y, line in enumerate(self.lines):
            if flow is not None and (span := selection.get_span(y)) is not None:
                start, end = span
                broken = " " if line.cell_length < flow.width else ""  # within a long word
                text += line.plain[start : end if end >= 0 else None]
                text += "\n" if flow.ends[y] else broken
        return (text.removesuffix("\n"), "\n") if text else None

    def _begin_anew(self) -> None:
        """Lay everything out, once the width is known."""
        if self._flow is not None:
            self._lay_out(self._flow.width)
        if self.is_mounted:
            self.refresh(layout=True)

    def _lay_out(self, width: int) -> None:
        self._flow = Flow(width, styles(self.app.no_color))
        self._height = 0  # of another width it would leave blank lines
        self._strips.clear()
        self.kinds = set()
        self._coming = deque(run for step in self._steps for run in runs_of(step, self.ghosts))
        self._advance(self._flow)

    def _paint(self) -> None:
        """Show some of what waits, and paint what it changes."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._flow is None or not self.is_attached:  # another conversation may have been opened
            return
        changes = self._advance(self._flow)
        missing = len(self.lines) - self._height
        if missing > 0 or (missing < 0 and not self.growing):
            lines = [Region(0, y, self.size.width, 1) for y in changes]
            self.refresh(*lines, layout=True)
            return
        paint(self, changes)

    def _advance(self, flow: Flow) -> dict[int, int]:
        """Lay out some of what waits; return the lines that change, and from which cell on."""
        self._painted = monotonic()
        runs = self._next()
        self._explain(runs)
        stable = flow.add(runs)
        before, after = self.lines[stable:], flow.lines[stable:]
        if self.growing:
            after[-1] += CARET
        elif not after[-1]:
            after.pop()  # a line break at the end is the layout's
        self.lines[stable:] = after
        changes: dict[int, int] = {}
        for y, (old, new) in enumerate(zip_longest(before, after), stable):
            if old is None or new is None or not old.is_same(new):
                self._strips.pop(y, None)
                if new is not None:
                    changes[y] = _same(old, new) if old is not None else 0
        if self._coming:
            self._timer = self.set_timer(PERIOD, self._paint)
        return changes

    def _next(self) -> list[Run]:
        """Take what is shown next: half of flowing text, else all up to a limit."""
        count = len(self._coming)
        if self.growing and count <= MAX_FLOWING_RUNS:
            count = count // 2 + 1
        runs: list[Run] = []
        room = AT_ONCE
        while self._coming and count and room:
            text, kind = self._coming.popleft()
            if len(text) > room:
                self._coming.appendleft((text[room:], kind))
            runs.append((text[:room], kind))
            count, room = count - 1, max(0, room - len(text))
        return runs

    def _explain(self, runs: Iterable[Run]) -> None:
        kinds = {kind for text, kind in runs if text}
        if not kinds <= self.kinds:
            self.kinds |= kinds
            self.post_message(self.Explained())


def whole(text: str) -> Step:
    """Return a text as one round, when it is not known which tokens it came from."""
    return Step((Token(0, text, Origin.TARGET, None, 1.0, None),))


def _same(before: Content, after: Content) -> int:
    """Return in how many cells at the beginning two lines have the same words."""
    pairs = enumerate(zip(before.plain, after.plain, strict=False))
    end = next((i for i, (old, new) in pairs if old != new), 0)
    return cell_len(after.plain[: after.plain.rfind(" ", 0, end) + 1])
