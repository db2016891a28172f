"""One lane of a race up to a moment, live or played again, and the clock of what is replayed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from time import monotonic

from assistant.events import (
    Decoded,
    Failed,
    Finished,
    LaneEvent,
    Noticed,
    Prefilled,
    Ready,
    Stats,
    Stop,
)
from assistant.request import Lane
from assistant.tokens import Step

ENDS = {
    Stop.STOP_TOKEN: "finished",
    Stop.STOP_STRING: "finished",
    Stop.CANCELLED: "stopped",
    Stop.LENGTH: "at the length limit",
    Stop.CONTEXT: "context full",
}


@dataclass(frozen=True, slots=True)
class LaneStanding:
    """How far a lane has come."""

    lane: Lane
    clock: float = 0.0  # seconds that it has computed
    stats: Stats | None = None  # of the last round
    doing: str = ""
    finished: Finished | None = None
    failed: str | None = None

    @property
    def tokens_per_s(self) -> float:
        """Its speed; 0 before there is one."""
        return self.stats.tokens_per_s if self.stats else 0.0

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.finished is not None or self.failed is not None

    @property
    def trouble(self) -> str | None:
        """What went wrong: it failed, or ended without the form that was asked for."""
        if self.finished is None or self.finished.complete:
            return self.failed
        return f"it ended ({self.finished.stop}) before the form was complete"

    def after(self, lap: LaneEvent) -> "LaneStanding":
        """Return how far it has come with one event more."""
        now = replace(self, clock=lap.clock)
        match lap.event:
            case Prefilled(role, done, total):
                return replace(now, doing=f"{role} reads {done:,} of {total:,}")
            case Decoded(stats=stats):
                return replace(now, stats=stats, doing="")
            case Finished(stop=stop, stats=stats):
                cut = not lap.event.complete and stop is not Stop.CANCELLED
                end = "form incomplete" if cut else ENDS[stop]
                return replace(now, finished=lap.event, stats=stats, doing=end)
            case Failed(message):
                return replace(now, failed=message, doing="failed")
        return now


class Track:
    """Record what a lane says, and play it up to any moment of its own clock."""

    def __init__(self, lane: Lane) -> None:
        self.standing = self._start = LaneStanding(lane)
        self.ready: Ready | None = None
        self._laps: list[LaneEvent] = []
        self._played = 0

    def line_up(self, ready: Ready | Failed) -> None:
        """Note which models the lane has, or why it does not start."""
        if isinstance(ready, Ready):
            self.ready = ready
        else:
            self.standing = self._start = self._start.after(LaneEvent(0, 0.0, ready))

    def record(self, lap: LaneEvent) -> None:
        """Keep an event, to be played."""
        self._laps.append(lap)

    @property
    def length(self) -> float:
        """The seconds that the whole of it took."""
        return self._laps[-1].clock if self._laps else 0.0

    def play(self, until: float = inf) -> Sequence[Step]:
        """Go on to that moment and return the rounds that came in between."""
        steps: list[Step] = []
        while self._played < len(self._laps) and self._laps[self._played].clock <= until:
            lap = self._laps[self._played]
            self.standing = self.standing.after(lap)
            if isinstance(lap.event, Decoded):
                steps.append(Step(lap.event.tokens, lap.event.ghosts))
            self._played += 1
        if until < inf:
            self.standing = replace(self.standing, clock=min(until, self.length))
        return steps

    def rewind(self) -> None:
        """Go back to the start."""
        self.standing, self._played = self._start, 0

    @property
    def notices(self) -> list[str]:
        """What went differently from what was asked, in sentences."""
        notices = [lap.event.text for lap in self._laps if isinstance(lap.event, Noticed)]
        return [self.standing.failed, *notices] if self.standing.failed else notices


class ReplayClock:
    """A clock that can be held: run from 0 to `length` seconds at the speed of the world."""

    def __init__(self, length: float) -> None:
        self.length = length
        self.at = 0.0
        self.paused = False
        self._seen = monotonic()

    def tick(self) -> float:
        """Return where it is now."""
        now = monotonic()
        if not self.paused:
            self.at = min(self.at + now - self._seen, self.length)
        self._seen = now
        return self.at

    def toggle(self) -> None:
        """Hold it, or let it go on."""
        self.tick()
        self.paused = not self.paused

    def skip(self) -> None:
        """Go to the end."""
        self.at, self.paused = self.length, False

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.at >= self.length
