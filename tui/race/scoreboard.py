"""What stands below the lanes of a race: the figures of each, and what is going on."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from assistant.request import Request
from tui.race.track import LaneStanding, ReplayClock
from tui.race.verdict import HEADERS, pays, table, verdict
from tui.safe import safe
from tui.widgets.text_figures import bar, gauge

GAP = "  "
MIN_BAR, MAX_BAR = 6, 48
GAUGE = 10


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
    room = min(width - _length(header) - len(GAP), MAX_BAR)
    best = max((each.tokens_per_s for each in standings), default=0.0)
    lines = [Content.styled(GAP.join(header), "$foreground 60%")]
    for standing, row in zip(standings, lanes, strict=True):
        leads = best > 0 and standing.tokens_per_s == best
        line = Content.styled(safe(GAP.join(row)), "bold" if leads else "")
        if room >= MIN_BAR and best:
            hue = "$primary" if standing.lane.mode == "ars" else "$success"
            line += Content.styled(GAP + bar(standing.tokens_per_s / best, room), hue)
        lines.append(line)
    return Content("\n").join(lines)


def _length(row: Sequence[str]) -> int:
    return sum(map(len, row)) + len(GAP) * (len(row) - 1)


class PhaseLine(Static):
    """Say it in a sentence."""

    DEFAULT_CSS = """
    PhaseLine {
        height: auto; min-height: 2; margin: 1 2 0 2; padding: 0 1;
        border-left: outer $panel-lighten-2; color: $text-muted;

        &.outcome { border-left: outer $primary; color: $foreground; text-style: bold; }
        &.outcome.won { border-left: outer $success; color: $text-success; }
        &.outcome.failed { border-left: outer $error; color: $text-error; }
    }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._text = Content("")

    def preparing(self, text: str, fraction: float) -> None:
        """Say what is being loaded."""
        bar = Content.styled(f"{gauge(fraction, GAUGE)} {fraction:>4.0%}", "$accent")
        self._say(bar + Content(f"  {safe(text)}"))

    def racing(self, standings: Sequence[LaneStanding], stopping: bool) -> None:
        """Say what is compared."""
        self._say(Content("Stopping." if stopping else _turns(standings)))

    def replaying(self, replay: ReplayClock) -> None:
        """Say where the replay is."""
        bar = gauge(replay.at / replay.length, GAUGE)
        where = f"  {bar}  {replay.at:.1f} of {replay.length:.1f} s"
        text = "Paused." if replay.paused else "Replay at true speed, each lane as if alone."
        self._say(Content(text) + Content.styled(where, "$accent"))

    def outcome(self, standings: Sequence[LaneStanding], request: Request) -> None:
        """Say who won."""
        self._say(Content(safe(verdict(standings, request))), "outcome")
        self.set_class(pays(standings), "won")

    def failed(self, reason: str) -> None:
        """Say why there is no race."""
        self._say(Content(safe(reason)), "outcome", "failed")

    def _say(self, text: Content, *classes: str) -> None:
        self.set_class("outcome" in classes, "outcome")
        self.set_class("failed" in classes, "failed")
        if not text.is_same(self._text):
            self._text = text
            self.update(text)


def _turns(standings: Sequence[LaneStanding]) -> str:
    """Return what is fair about the race; a lane that has finished no longer waits for others."""
    going = [each for each in standings if not each.over]
    if len(going) == 1 < len(standings):
        return f"The others have finished: {going[0].lane.name} continues alone, by its own clock."
    seconds = min(each.clock for each in going or standings)
    return (
        "The lanes take turns on this machine: equal compute for all. "
        f"Each has computed for {seconds:.1f} s by now."
    )
