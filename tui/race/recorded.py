"""A race as it was recorded: how far each lane had come at any moment of its own clock."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from assistant.events import (
    Decoded,
    Event,
    Failed,
    Finished,
    LaneEvent,
    Noticed,
    Prefilled,
    RaceReady,
    Ready,
    Stats,
    Stop,
)
from assistant.request import Lane, Race
from tui.figures import MARKS


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
    def tokens(self) -> int:
        """How many tokens it has written."""
        return self.stats.generated_tokens if self.stats else 0

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
                end = "form incomplete" if cut else MARKS.get(stop, "finished")
                return replace(now, finished=lap.event, stats=stats, doing=end)
            case Failed(message):
                return replace(now, failed=message, doing="failed")
        return now


class RecordedLane:
    """What a lane has said."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.ready: Ready | None = None
        """The models that the lane has, once they are loaded."""
        self.laps: list[LaneEvent] = []
        self.notices: list[str] = []
        """What went differently from what was asked, in sentences."""
        self._standings = [LaneStanding(lane)]  # before the first lap, and after each

    def line_up(self, ready: Ready | Failed) -> None:
        """Note which models the lane has, or why it does not start."""
        if isinstance(ready, Ready):
            self.ready = ready
        else:
            self._standings = [self._standings[0].after(LaneEvent(0, 0.0, ready))]
            self.notices.append(ready.message)

    def record(self, lap: LaneEvent) -> None:
        """Keep an event."""
        self.laps.append(lap)
        self._standings.append(self._standings[-1].after(lap))
        if isinstance(lap.event, Noticed):
            self.notices.append(lap.event.text)
        elif isinstance(lap.event, Failed):
            self.notices.insert(0, lap.event.message)

    @property
    def length(self) -> float:
        """The seconds that the whole of it took."""
        return self.laps[-1].clock if self.laps else 0.0

    def count(self, until: float = inf) -> int:
        """Return how many events there were up to a moment."""
        return bisect_right(self.laps, until, key=lambda lap: lap.clock)

    def standing(self, until: float = inf) -> LaneStanding:
        """Return how far it had come at a moment; by default, how far it has come."""
        standing = self._standings[self.count(until)]
        return standing if until == inf else replace(standing, clock=min(until, self.length))


class RecordedRace:
    """What the engine has said of a race."""

    def __init__(self, race: Race) -> None:
        self.race = race
        self.lanes = [RecordedLane(lane) for lane in race.lanes]

    def hear(self, event: Event | None) -> None:
        """Keep what an event says of the lanes."""
        if isinstance(event, RaceReady):
            for lane, ready in zip(self.lanes, event.lanes, strict=True):
                lane.line_up(ready)
        elif isinstance(event, LaneEvent):
            self.lanes[event.lane].record(event)

    def standings(self, until: float = inf) -> Sequence[LaneStanding]:
        """Return how far the lanes had come at a moment of their own clocks."""
        return [lane.standing(until) for lane in self.lanes]

    @property
    def length(self) -> float:
        """The seconds that the longest lane took."""
        return max(lane.length for lane in self.lanes)
