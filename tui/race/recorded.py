"""A recorded race: its lanes at any moment, their figures, and the verdict."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

from assistant import events
from assistant.request import Lane, Race, Request
from assistant.store.values import MARKS
from tui.formatting import MISSING, align
from tui.reading import Activity, AnswerProgress


@dataclass
class RecordedLane:
    """The events of a lane."""

    lane: Lane
    lane_events: list[events.LaneEvent] = field(default_factory=list)
    ready: events.Ready | events.Failed | None = None  # its loaded models, or its failure
    moment: float = inf  # of its clock, in seconds: later events are left out

    def until(self, moment: float) -> "RecordedLane":
        """Return the lane at a moment of its clock."""
        count = bisect_right(self.lane_events, moment, key=lambda lane_event: lane_event.clock)
        return replace(self, lane_events=self.lane_events[:count], moment=min(moment, self.clock))

    @property
    def clock(self) -> float:
        """The seconds of computing so far."""
        if self.moment < inf:
            return self.moment
        return self.lane_events[-1].clock if self.lane_events else 0.0

    @property
    def stats(self) -> events.Stats | None:
        """The figures of the last round."""
        newest = (lane_event.event for lane_event in reversed(self.lane_events))
        ends = (event for event in newest if isinstance(event, events.Decoded | events.Finished))
        return next((event.stats for event in ends), None)

    @property
    def tokens_per_s(self) -> float:
        """Its speed; 0 before the first round."""
        return self.stats.tokens_per_s if self.stats else 0.0

    @property
    def finished(self) -> events.Finished | None:
        """The event that ended it, unless it failed."""
        last = self.lane_events[-1].event if self.lane_events else None
        return last if isinstance(last, events.Finished) else None

    @property
    def error(self) -> str | None:
        """Why it failed, if it did."""
        last = self.lane_events[-1].event if self.lane_events else self.ready
        return last.message if isinstance(last, events.Failed) else None

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self.finished is not None or self.error is not None

    @property
    def failure(self) -> str | None:
        """Its failure, or that it violates its constraint; None without either."""
        if self.finished is None or self.finished.complete:
            return self.error
        return f"it ended ({self.finished.stop}) before the form was complete"

    @property
    def status(self) -> str:
        """Its activity before the first token, or how it ended."""
        match self.lane_events[-1].event if self.lane_events else self.ready:
            case events.Prefilled(_, done, total):
                return f"reading {done:,} of {total:,}"
            case events.Finished(stop=stop, complete=complete):
                cut = not complete and stop is not events.Stop.CANCELLED
                return "form incomplete" if cut else MARKS.get(stop, "finished")
            case events.Failed():
                return "failed"
        return ""

    @property
    def notices(self) -> list[str]:
        """Its failure and its warnings, as sentences."""
        inner = (lane_event.event for lane_event in self.lane_events)
        warnings = [event.text for event in inner if isinstance(event, events.Warned)]
        return [self.error, *warnings] if self.error else warnings


class RecordedRace:
    """The recorded events of a race."""

    def __init__(self, race: Race) -> None:
        self.race = race
        self.lanes = [RecordedLane(lane) for lane in race.lanes]
        self._progress = [AnswerProgress() for _ in self.lanes]
        self._activities = dict[int, Activity]()  # by lane; loading counts for the first lane

    def add(self, event: events.Event) -> None:
        """Record an event."""
        match event:
            case events.Loading():
                self._activities[0] = self._progress[0].describe(event)
            case events.RaceReady(lanes):
                self._activities.clear()
                for lane, ready in zip(self.lanes, lanes, strict=True):
                    lane.ready = ready
            case events.LaneEvent(number, _, inner):
                lane = self.lanes[number]
                lane.lane_events.append(event)
                self._activities.pop(number, None)
                if isinstance(inner, events.Prefilled):
                    what = f"the prompt ({lane.lane.name})"
                    self._activities[number] = self._progress[number].describe(inner, what)

    @property
    def activity(self) -> Activity | None:
        """The activity of a lane before its first token; None while all lanes answer."""
        return next(iter(self._activities.values()), None)

    @property
    def length(self) -> float:
        """The seconds of the longest lane."""
        return max(lane.clock for lane in self.lanes)


HEADERS = ("", "tokens/s", "speed", "tokens", "right", "tokens/round", "first token", "time")
MIN_TOKENS = 16  # tokens below which a speed means nothing
SAME_SPEED = 0.03
"""Speeds that differ by less than this share count as equal: the clock is no finer."""


def lane_figures(lane: RecordedLane, first: RecordedLane) -> tuple[str, ...]:
    """Return the figures of a lane, with its speed relative to the first lane."""
    stats, name, time = lane.stats, lane.lane.name, f"{lane.clock:.1f} s"
    if stats is None or not stats.generated_tokens:
        return (name, *[MISSING] * (len(HEADERS) - 2), time)
    reference, rate = first.tokens_per_s, stats.acceptance_rate
    return (
        name,
        f"{stats.tokens_per_s:.1f}",
        f"{stats.tokens_per_s / reference:.2f}×" if reference else MISSING,
        f"{stats.generated_tokens:,}",
        MISSING if rate is None else f"{rate:.0%}",
        f"{stats.tokens_per_eval:.2f}",
        f"{stats.first_token_s:.2f} s",
        time,
    )


def table(lanes: Sequence[RecordedLane], columns: int = len(HEADERS)) -> list[list[str]]:
    """Return the header and a row for each lane, padded to columns: names left, figures right."""
    rows = [HEADERS, *(lane_figures(lane, lanes[0]) for lane in lanes)]
    return align([row[:columns] for row in rows])


def turns_sentence(lanes: Sequence[RecordedLane]) -> str:
    """Return a sentence on how the lanes share the machine now."""
    running = [lane for lane in lanes if not lane.has_ended]
    if len(running) == 1 < len(lanes):
        return f"Only the lane {running[0].lane.name} is still writing."
    seconds = min(lane.clock for lane in running or lanes)
    return f"The lanes take turns: each has computed for {seconds:.1f} s or a turn more."


def verdict(lanes: Sequence[RecordedLane], request: Request) -> tuple[str, str]:
    """Return a sentence on which lane won, and further sentences."""
    ran = [lane for lane in lanes if lane.stats and lane.stats.generated_tokens >= MIN_TOKENS]
    failed = [f"The lane {lane.lane.name} did not run." for lane in lanes if lane.error]
    if len(ran) < 2:
        return "Too little was written to compare speeds.", " ".join(failed)
    won = _compare_two(*ran) if len(ran) == 2 else _compare_many(ran)
    is_sampled = request.seed is not None and request.sampling.temperature > 0
    seed = [f"The seed was {request.seed}."] if is_sampled else []
    return won, " ".join([*failed, *_compare_texts(ran), *seed])


def beats_first(lanes: Sequence[RecordedLane]) -> bool:
    """Return whether the fastest lane has guesses and clearly beats the first lane."""
    first, best = lanes[0], max(lanes, key=lambda lane: lane.tokens_per_s)
    return best.lane.mode != "ars" and best.tokens_per_s > (1 + SAME_SPEED) * first.tokens_per_s


def _compare_two(first: RecordedLane, other: RecordedLane) -> str:
    ratio = other.tokens_per_s / first.tokens_per_s
    name, reference = other.lane.name, first.lane.name.replace("without guesses", "without")
    factor = "about as fast as" if abs(ratio - 1) < SAME_SPEED else f"{ratio:.2f} times as fast as"
    figures = f"{other.tokens_per_s:.1f} against {first.tokens_per_s:.1f} tokens/s"
    return f"{name[:1].upper()}{name[1:]}: {factor} {reference}, {figures}."


def _compare_many(ran: Sequence[RecordedLane]) -> str:
    best, *others = sorted(ran, key=lambda lane: -lane.tokens_per_s)
    rates = [(best.tokens_per_s / lane.tokens_per_s, lane.lane.name) for lane in others]
    ratios = [f"{rate:.2f} times as fast as {name}" for rate, name in rates]
    comparison = " and ".join([", ".join(ratios[:-1]), ratios[-1]])
    return f"Fastest: {best.lane.name}, with {best.tokens_per_s:.1f} tokens/s, {comparison}."


def _compare_texts(ran: Sequence[RecordedLane]) -> list[str]:
    """Compare the texts of lanes with the same weights."""
    comparisons: list[tuple[str, str]] = []
    for i, other in enumerate(ran):
        target = other.lane.setup.target
        same_weights = (lane for lane in ran[:i] if lane.lane.setup.target == target)
        first = next(same_weights, None)
        if first is not None and first.finished and other.finished:
            subject = f"{first.lane.name} and {other.lane.name}" if len(ran) > 2 else "Both"
            ours, theirs = (end.thought + end.text for end in (first.finished, other.finished))
            comparisons.append((subject, _wording(ours, theirs)))
    wordings = {wording for _, wording in comparisons}
    if len(comparisons) == len(ran) - 1 > 1 and len(wordings) == 1:
        comparisons = [("All", wordings.pop())]
    return [f"{subject} {wording}." for subject, wording in comparisons]


def _wording(ours: str, theirs: str) -> str:
    if ours == theirs:
        return "wrote the same text"
    shorter = min(len(ours), len(theirs))
    same = next((i for i in range(shorter) if ours[i] != theirs[i]), shorter)
    if same == shorter:
        return "wrote the same text, as far as the shorter one goes"
    return f"wrote the same text up to character {same:,}"
