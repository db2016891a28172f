"""A race as it was recorded: what each lane had said at any moment of its own clock."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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


@dataclass
class RecordedLane:
    """What a lane has said."""

    lane: Lane
    laps: list[LaneEvent] = field(default_factory=list)
    ready: Ready | Failed | None = None  # its models once they are loaded, or why it does not start
    moment: float = inf  # of its clock, in seconds: what came later is left out

    def until(self, moment: float) -> "RecordedLane":
        """Return what it had said at a moment."""
        count = bisect_right(self.laps, moment, key=lambda lap: lap.clock)
        return replace(self, laps=self.laps[:count], moment=min(moment, self.clock))

    @property
    def clock(self) -> float:
        """The seconds that it has computed."""
        if self.moment < inf:
            return self.moment
        return self.laps[-1].clock if self.laps else 0.0

    @property
    def stats(self) -> Stats | None:
        """The figures of the last round."""
        events = (lap.event for lap in reversed(self.laps))
        return next((each.stats for each in events if isinstance(each, Decoded | Finished)), None)

    @property
    def tokens_per_s(self) -> float:
        """Its speed; 0 before there is one."""
        return self.stats.tokens_per_s if self.stats else 0.0

    @property
    def finished(self) -> Finished | None:
        """How it ended, unless it failed."""
        last = self.laps[-1].event if self.laps else None
        return last if isinstance(last, Finished) else None

    @property
    def failed(self) -> str | None:
        """Why it failed, if it did."""
        last = self.laps[-1].event if self.laps else self.ready
        return last.message if isinstance(last, Failed) else None

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

    @property
    def doing(self) -> str:
        """What it does beside writing, or how it ended."""
        match self.laps[-1].event if self.laps else self.ready:
            case Prefilled(_, done, total):
                return f"reading {done:,} of {total:,}"
            case Finished(stop=stop, complete=complete):
                cut = not complete and stop is not Stop.CANCELLED
                return "form incomplete" if cut else MARKS.get(stop, "finished")
            case Failed():
                return "failed"
        return ""

    @property
    def notices(self) -> list[str]:
        """What went differently from what was asked, in sentences."""
        notices = [lap.event.text for lap in self.laps if isinstance(lap.event, Noticed)]
        return [self.failed, *notices] if self.failed else notices


class RecordedRace:
    """What the engine has said of a race."""

    def __init__(self, race: Race) -> None:
        self.race = race
        self.lanes = [RecordedLane(lane) for lane in race.lanes]

    def hear(self, event: Event) -> None:
        """Keep what an event says of the lanes."""
        if isinstance(event, RaceReady):
            for lane, ready in zip(self.lanes, event.lanes, strict=True):
                lane.ready = ready
        elif isinstance(event, LaneEvent):
            self.lanes[event.lane].laps.append(event)

    def until(self, moment: float) -> Sequence[RecordedLane]:
        """Return what the lanes had said at a moment of their own clocks."""
        return [lane.until(moment) for lane in self.lanes]

    @property
    def length(self) -> float:
        """The seconds that the longest lane took."""
        return max(lane.clock for lane in self.lanes)
