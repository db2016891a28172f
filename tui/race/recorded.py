"""A race as it was recorded: what each lane had said at a moment; its figures, and who won."""

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
    Prefilled,
    RaceReady,
    Ready,
    Stats,
    Stop,
    Warned,
)
from assistant.request import Lane, Race, Request
from tui.figures import MARKS
from tui.widgets.text_figures import MISSING


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
        notices = [lap.event.text for lap in self.laps if isinstance(lap.event, Warned)]
        return [self.failed, *notices] if self.failed else notices


class RecordedRace:
    """What the engine has said of a race."""

    def __init__(self, race: Race) -> None:
        self.race = race
        self.lanes = [RecordedLane(lane) for lane in race.lanes]

    def handle(self, event: Event) -> None:
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


HEADERS = ("", "tokens/s", "speed", "tokens", "right", "tokens/round", "first token", "time")
MIN_TOKENS = 16  # tokens from which on a speed means something
SAME_SPEED = 0.03
"""Speeds that differ by less than this share are called the same: the clock is no finer."""


def cells(lane: RecordedLane, first: RecordedLane) -> tuple[str, ...]:
    """Return the figures of a lane, its speed also as a multiple of the first lane's."""
    stats, name = lane.stats, lane.lane.name
    if stats is None or not stats.generated_tokens:
        return (name, *[MISSING] * (len(HEADERS) - 2), f"{lane.clock:.1f} s")
    ratio, rate = first.tokens_per_s, stats.acceptance_rate
    return (
        name,
        f"{stats.tokens_per_s:.1f}",
        f"{stats.tokens_per_s / ratio:.2f}×" if ratio else MISSING,
        f"{stats.generated_tokens:,}",
        MISSING if rate is None else f"{rate:.0%}",
        f"{stats.tokens_per_eval:.2f}",
        f"{stats.first_token_s:.2f} s",
        f"{lane.clock:.1f} s",
    )


def table(lanes: Sequence[RecordedLane], columns: int = len(HEADERS)) -> list[list[str]]:
    """Return the header and a row for each lane, padded to columns: names left, figures right."""
    rows = [HEADERS, *(cells(each, lanes[0]) for each in lanes)]
    widths = [max(len(row[i]) for row in rows) for i in range(columns)]
    return [
        [
            text.rjust(width) if i else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=False))
        ]
        for row in rows
    ]


def turns(lanes: Sequence[RecordedLane]) -> str:
    """Return what is fair about the race; a lane that has finished no longer waits for others."""
    going = [each for each in lanes if not each.over]
    if len(going) == 1 < len(lanes):
        return f"Only the lane {going[0].lane.name} is still writing."
    seconds = min(each.clock for each in going or lanes)
    return f"They take turns, with equal time: {seconds:.1f} s each so far."


def verdict(lanes: Sequence[RecordedLane], request: Request) -> tuple[str, str]:
    """Return which lane won, and what else there is to say, of lanes asked for `request`."""
    ran = [each for each in lanes if each.stats and each.stats.generated_tokens >= MIN_TOKENS]
    failed = [f"The lane {each.lane.name} did not run." for each in lanes if each.failed]
    if len(ran) < 2:
        return "Too little was written to compare speeds.", " ".join(failed)
    won = _pair(*ran) if len(ran) == 2 else _field(ran)
    drew = request.seed is not None and request.sampling.temperature > 0
    seed = [f"The seed was {request.seed}."] if drew else []
    return won, " ".join([*failed, *_texts(ran), *seed])


def pays(lanes: Sequence[RecordedLane]) -> bool:
    """Whether some lane with guesses was the fastest, and clearly so against the first."""
    first, best = lanes[0], max(lanes, key=lambda each: each.tokens_per_s)
    return best.lane.mode != "ars" and best.tokens_per_s > (1 + SAME_SPEED) * first.tokens_per_s


def _pair(first: RecordedLane, other: RecordedLane) -> str:
    ratio = other.tokens_per_s / first.tokens_per_s
    name, reference = other.lane.name, first.lane.name.replace("without guesses", "without")
    factor = "about as fast as" if abs(ratio - 1) < SAME_SPEED else f"{ratio:.2f} times as fast as"
    figures = f"{other.tokens_per_s:.1f} against {first.tokens_per_s:.1f} tokens/s"
    return f"{name[:1].upper()}{name[1:]}: {factor} {reference}, {figures}."


def _field(ran: Sequence[RecordedLane]) -> str:
    best, *others = sorted(ran, key=lambda each: -each.tokens_per_s)
    ratios = [
        f"{best.tokens_per_s / each.tokens_per_s:.2f} times as fast as {each.lane.name}"
        for each in others
    ]
    by = " and ".join([", ".join(ratios[:-1]), ratios[-1]])
    return f"Fastest: {best.lane.name}, with {best.tokens_per_s:.1f} tokens/s, {by}."


def _texts(ran: Sequence[RecordedLane]) -> list[str]:
    """Compare what lanes of the same weights said."""
    found: list[tuple[str, str]] = []
    for i, other in enumerate(ran):
        target = other.lane.setup.target
        same_weights = (each for each in ran[:i] if each.lane.setup.target == target)
        first = next(same_weights, None)
        if first is not None and first.finished and other.finished:
            who = f"{first.lane.name} and {other.lane.name}" if len(ran) > 2 else "Both"
            one, two = (each.thought + each.text for each in (first.finished, other.finished))
            found.append((who, _wording(one, two)))
    wordings = {wording for _, wording in found}
    if len(found) == len(ran) - 1 > 1 and len(wordings) == 1:
        found = [("All", wordings.pop())]
    return [f"{who} {wording}." for who, wording in found]


def _wording(ours: str, theirs: str) -> str:
    if ours == theirs:
        return "wrote the same text"
    shorter = min(len(ours), len(theirs))
    same = next((i for i in range(shorter) if ours[i] != theirs[i]), shorter)
    if same == shorter:
        return "wrote the same text, as far as the shorter one goes"
    return f"wrote the same text up to character {same:,}"
