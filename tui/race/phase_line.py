"""The line that says what is going on in a race, and in the end how it went."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from assistant.request import Request
from tui.race.replay_clock import ReplayClock
from tui.race.track import LaneStanding
from tui.race.verdict import pays, verdict
from tui.safe import safe
from tui.widgets.text_figures import gauge

GAUGE = 10


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
        return f"The others are over: {going[0].lane.name} goes on alone, by its own clock."
    seconds = min(each.clock for each in going or standings)
    return (
        "The lanes take turns on this machine: equal compute for all. "
        f"Each has computed for {seconds:.1f} s by now."
    )
