"""The first line of a turn: who, when, which branch, and what its colours mean."""

from time import localtime, strftime, time

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from tui.safe import safe

MONTH = 28 * 86400.0
SHORTEST = 8
"""Cells of a name that are shown however little room there is."""


class Head(Horizontal):
    """Name the turn on the left, explain it on the right where there is room."""

    DEFAULT_CSS = """
    Head { height: 1; color: $text-muted; }
    Head > Static { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    Head > .who { width: 1fr; }
    Head > .legend { width: auto; }
    Head.-narrow { height: 2; layout: vertical; }
    """

    def __init__(self, who: str, moment: float) -> None:
        super().__init__()
        self._who, self._moment = who, moment
        self._branch = (1, 1)
        self._focused = False
        self._meanings: list[Content] = []
        self._left = Static(classes="who", markup=False)
        self._legend = Static(classes="legend", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the two sides."""
        yield self._left
        yield self._legend

    def on_mount(self) -> None:
        """Say what is known."""
        self._show()
        self.on_resize()

    def describe(self, who: str, moment: float, number: int, count: int) -> None:
        """Say who spoke, if known, when, in seconds since 1970, and which branch."""
        self._who, self._moment, self._branch = who or self._who, moment, (number, count)
        self._show()

    def mark(self, focused: bool) -> None:
        """Show that the keys go here."""
        self._focused = focused
        self._show()

    def explain(self, legends: list[Content]) -> None:
        """Explain the colours by the longest of some lines that fits, or by none."""
        self._meanings = legends
        self.on_resize()

    def on_resize(self) -> None:
        """Let the explanation have a line of its own where it would leave no room for the name."""
        room = self.size.width or 999
        fitting = [line for line in self._meanings if line.cell_length <= room]
        meaning = (fitting or self._meanings[-1:] or [Content("")])[0]
        self._legend.update(meaning)
        self._legend.display = bool(meaning)
        wide = meaning.cell_length + self._line().cell_length + 2 <= room
        self.set_class(bool(meaning) and not wide, "-narrow")
        self._show()

    def _show(self) -> None:
        self._left.update(self._line(self.size.width), layout=False)

    def _line(self, room: int = 0) -> Content:
        """Return the line; in so much `room` a long name gives way to what follows it."""
        number, count = self._branch
        branch = f" · branch {number}/{count}" if count > 1 else ""
        since = Content(f" · {when(self._moment)}{branch}")
        mark = Content.styled("▸ ", "bold $text-accent") if self._focused else Content("")
        name = Content.styled(safe(self._who), "bold $text-accent" if self._focused else "bold")
        if room:
            left = room - mark.cell_length - since.cell_length
            name = name.truncate(max(left, SHORTEST), ellipsis=True)
        return mark + name + since


def when(moment: float) -> str:
    """Return the time of day, after the date when that is not today's."""
    then, now = localtime(moment), localtime()
    if then[:3] == now[:3]:
        return strftime("%H:%M", then)
    recent = 0 <= time() - moment < MONTH * 6
    return strftime("%d %b %H:%M" if recent else "%d %b %Y %H:%M", then)
