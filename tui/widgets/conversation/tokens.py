"""The tokens of an answer as they stream, each in the style of where it came from."""

from collections import deque
from collections.abc import Iterable
from time import monotonic

from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.timer import Timer
from textual.widgets import Static

from assistant.trace import Step
from tui.widgets.conversation.chunks import BLOCK, TAIL, cut, length, parts, shown
from tui.widgets.conversation.still import Still
from tui.widgets.origins import Kind, Run, Styles, extend, runs_of, styled, styles

PERIOD = 1 / 26
"""Seconds between two repaints, in each of which half of what waits is shown: rounds bring several
tokens at once, and text that flows reads better than text that jerks.
"""
AT_ONCE = 4
"""Parts that are mounted together; the rest of a very long text follows bit by bit."""

CARET = Content.styled("▍", "$accent")


class Part(Still, Static):
    """A part of the text."""

    def __init__(self, content: Content | str = "") -> None:
        super().__init__(content, classes="chunk", markup=False)


class TokenView(Still, Vertical):
    """Show rounds as they come; rejected drafts too, struck through, where they are wanted."""

    BLANK = True  # it draws nothing itself, which saves a good part of each frame
    DEFAULT_CSS = """
    TokenView { height: auto; }
    TokenView > .chunk { height: auto; }
    """

    ghosts: reactive[bool] = reactive(False, init=False)
    """Whether rejected drafts are shown."""

    class Explained(Message):
        """There is something new for a legend to explain."""

    def __init__(self, growing: bool = True) -> None:
        super().__init__(classes="tokens")
        self.kinds: set[Kind] = set()
        """What there is to be explained by a legend."""
        self._growing = growing
        self._steps: list[Step] = []
        self._coming: deque[Run] = deque()  # tokens that are not painted yet
        self._painted = 0.0
        self._timer: Timer | None = None
        self._live = False
        self._waiting: deque[list[Run]] = deque()  # parts that are not mounted yet
        self._block: list[Run] = []  # the part before the last
        self._runs: list[Run] = []  # the last part
        self._tail = self._last = Part()

    def on_mount(self) -> None:
        """Show what came before there was a place for it."""
        self._live = True
        self._rebuild()

    def add(self, step: Step) -> None:
        """Append a round; it is painted soon."""
        self._steps.append(step)
        self._coming.extend(runs_of(step, self.ghosts))
        if self._timer is None and self._live:
            self._paint_at(self._painted + PERIOD)

    def show(self, steps: Iterable[Step]) -> None:
        """Show these rounds and no others."""
        self._steps = list(steps)
        if self._live:
            self._rebuild()

    def grow(self, growing: bool) -> None:
        """Paint what there is; with a caret while more is to come."""
        self._growing = growing
        if self._live:
            self._paint()

    def watch_ghosts(self) -> None:
        """Lay everything out again."""
        if self._live:
            self._rebuild()

    def _paint(self) -> None:
        self._rest()
        if self._waiting:
            self._fill()
            return
        self._painted = monotonic()
        self._take(len(self._coming) // 2 + 1 if self._growing else len(self._coming))
        while (two := cut(self._runs, TAIL)) is not None:
            self._close(*two)
        text = shown(self._runs, self._styles) if not self._growing else self._growth()
        self._change(self._tail, text)
        self._tail.display = self._growing or bool(self._runs)
        if self._coming:
            self._paint_at(self._painted + PERIOD)

    def _paint_at(self, moment: float) -> None:
        wait = moment - monotonic()
        if wait <= 0:
            self._paint()
        else:
            self._timer = self.set_timer(wait, self._paint)

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _take(self, count: int) -> None:
        runs = [self._coming.popleft() for _ in range(min(count, len(self._coming)))]
        extend(self._runs, runs)
        kinds = {kind for text, kind in runs if text}
        if not kinds <= self.kinds:
            self.kinds |= kinds
            self.post_message(self.Explained())

    def _close(self, done: list[Run], rest: list[Run]) -> None:
        """Add what will not change any more to the part before, or begin a new part."""
        if self._block and length(self._block) < BLOCK:
            extend(self._block, done)
        else:
            self._block, self._last = done, self._tail
            self._tail = Part()
            self.mount(self._tail)
        self._runs = rest
        self._change(self._last, shown(self._block, self._styles))

    def _change(self, part: Static, content: Content) -> None:
        """Show something else; the screen is laid out again only if the height has changed."""
        width = part.content_size.width
        same = width > 0 and content.get_height({}, width) == part.content_size.height
        part.update(content, layout=not same)

    def _growth(self) -> Content:
        return styled(self._runs, self._styles) + CARET

    def _rebuild(self) -> None:
        self._rest()
        self._runs, self._block, self.kinds = [], [], set()
        self._coming = deque(run for step in self._steps for run in runs_of(step, self.ghosts))
        self._take(len(self._coming))
        *done, self._runs = parts(self._runs)
        self._waiting = deque(done)
        self.remove_children()
        self._fill()

    def _fill(self) -> None:
        """Mount some of the parts that wait, then the last one."""
        count = min(AT_ONCE, len(self._waiting))
        blocks = [self._waiting.popleft() for _ in range(count)]
        self.mount_all([Part(shown(block, self._styles)) for block in blocks])
        if self._waiting:
            self._timer = self.set_timer(PERIOD, self._paint)
            return
        self._tail = Part()
        self.mount(self._tail)
        self._paint()

    @property
    def _styles(self) -> Styles:
        return styles(self.app.no_color)
