"""The scoreboard of a race."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from tui.race.score_table import HEADERS, table
from tui.race.track import LaneStanding
from tui.safe import safe
from tui.widgets.text_figures import bar

GAP = "  "
SHORTEST_BAR, LONGEST_BAR = 6, 48


class Board(Static):
    """Show the figures of every lane in a row, and its speed as a bar."""

    DEFAULT_CSS = """
    Board { height: auto; margin: 1 0 0 0; padding: 0 3; text-wrap: nowrap; }
    """

    def __init__(self, standings: Sequence[LaneStanding]) -> None:
        super().__init__(rows(standings, 0), markup=False)
        self._standings = standings

    def show(self, standings: Sequence[LaneStanding]) -> None:
        """Show other figures; the rows are as many as before."""
        self._standings = standings
        self.update(rows(standings, self.content_size.width), layout=False)

    def on_resize(self) -> None:
        """Fit the columns to the new width."""
        self.show(self._standings)


def rows(standings: Sequence[LaneStanding], width: int) -> Content:
    """Return the header and the lanes: what fits, the most important columns first."""
    columns = len(HEADERS)
    while columns > 2 and _length(table(standings, columns)[0]) > width:
        columns -= 1
    header, *lanes = table(standings, columns)
    room = min(width - _length(header) - len(GAP), LONGEST_BAR)
    best = max((each.tokens_per_s for each in standings), default=0.0)
    lines = [Content.styled(GAP.join(header), "$foreground 60%")]
    for standing, row in zip(standings, lanes, strict=True):
        leads = best > 0 and standing.tokens_per_s == best
        line = Content.styled(safe(GAP.join(row)), "bold" if leads else "")
        if room >= SHORTEST_BAR and best:
            hue = "$primary" if standing.lane.mode == "ars" else "$success"
            line += Content.styled(GAP + bar(standing.tokens_per_s / best, room), hue)
        lines.append(line)
    return Content("\n").join(lines)


def _length(row: Sequence[str]) -> int:
    return sum(map(len, row)) + len(GAP) * (len(row) - 1)
