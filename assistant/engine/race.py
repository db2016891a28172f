"""A race: the same request in several lanes that share one machine and take turns to compute.

A lane with another engine than this process has loaded runs in a separate process, this module.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from time import perf_counter

from assistant.decoding.lookahead.policy import Control
from assistant.decoding.sources.model import MODELS
from assistant.engine.load import Loader
from assistant.engine.reply import Assistant
from assistant.engine.weights_pool import Pool
from assistant.events import Decoded, Event, Failed, Finished, Lap, Lined, Ready, Spoken
from assistant.process.lane_process import LaneProcess, LaneProtocol, serve
from assistant.request import Lane, Race, Request, Setup
from models.errors import ModelError, OtherEngine, SpecchatError


class LaneClock:
    """Tell the seconds that a lane has computed: it stands still while the others do."""

    def __init__(self) -> None:
        self._elapsed = 0.0
        self._since: float | None = None  # None: it stands

    def __call__(self) -> float:
        """Return the seconds so far."""
        running = perf_counter() - self._since if self._since is not None else 0.0
        return self._elapsed + running

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let it run."""
        self._since = perf_counter()
        try:
            yield
        finally:
            self._elapsed, self._since = self(), None


class Runner:
    """An answer under way in one lane, a step at a time: its laps come from here or elsewhere."""

    def __init__(self, number: int, laps: Iterator[Lap]) -> None:
        self.number = number
        self.seconds = 0.0
        """For how long it has computed."""
        self.tokens = 0
        """How many tokens it has so far."""
        self.failure: Failed | None = None
        """What it ended with, if it failed."""
        self.over = False
        self._laps = laps

    def step(self) -> Lap:
        """Compute until there is something to say, which at the end is `Finished` or `Failed`."""
        lap = next(self._laps)
        self.seconds = lap.clock
        match lap.event:
            case Decoded(stats=stats):
                self.tokens = stats.generated_tokens
            case Failed() as failure:
                self.failure = failure
        self.over = isinstance(lap.event, Finished | Failed)
        return Lap(self.number, lap.clock, lap.event)


def answering(assistant: Assistant, request: Request, control: Control) -> Iterator[Lap]:
    """Yield the laps of an answer that is computed here."""
    clock = LaneClock()
    answer = assistant.reply(request, control, clock)
    while True:
        with clock.running():
            try:
                event: Spoken = next(answer)
            except SpecchatError as error:
                event = failed(error)
        yield Lap(0, clock(), event)
        if isinstance(event, Finished | Failed):
            return


def run(race: Race, pool: Pool, control: Control, emit: Callable[[Event], None]) -> None:
    """Load the lanes, let them race, and free their memory; a lane that fails stops no other.

    Raises:
        SpecchatError: no lane can start.
        Cancelled: somebody stopped it before the start.
    """
    with ExitStack() as opened:
        lanes = [_line_up(lane, race.request, pool, control, emit, opened) for lane in race.lanes]
        if all(laps is None for laps, _ in lanes):
            reasons = {ready.message for _, ready in lanes if isinstance(ready, Failed)}
            raise ModelError(" ".join(sorted(reasons)) or "A race needs a lane.")
        emit(Lined(tuple(ready for _, ready in lanes)))
        runners = [
            Runner(number, laps) for number, (laps, _) in enumerate(lanes) if laps is not None
        ]
        for lap in in_turns(runners):
            emit(lap)


def seconds(runner: Runner) -> float:
    """Return how long a lane has computed; the lanes of a race get equal shares."""
    return runner.seconds


def in_turns(runners: Sequence[Runner], done: Callable[[Runner], float] = seconds) -> Iterator[Lap]:
    """Step the one that has done least, the first of equals: no two are ever a step apart."""
    running = list(runners)
    while running:
        runner = min(running, key=done)
        yield runner.step()
        if runner.over:
            running.remove(runner)


def failed(error: SpecchatError) -> Failed:
    """Return the event for an error."""
    return Failed(str(error), type(error).__name__)


LinedUp = tuple[Iterator[Lap] | None, Ready | Failed]
"""The laps of a lane that can start, and the result of loading it."""


def _line_up(
    lane: Lane,
    request: Request,
    pool: Pool,
    control: Control,
    emit: Callable[[Event], None],
    opened: ExitStack,
) -> LinedUp:
    """Load a lane's models, here or elsewhere."""
    try:
        return _here(lane, request, pool, control, emit, opened)
    except OtherEngine:
        return _elsewhere(lane, request, control, opened)
    except SpecchatError as error:
        return None, failed(error)


def _here(
    lane: Lane,
    request: Request,
    pool: Pool,
    control: Control,
    emit: Callable[[Event], None],
    opened: ExitStack,
) -> tuple[Iterator[Lap], Ready]:
    with ExitStack() as refused:
        loader = Loader(_needed(lane), control, emit, pool)
        refused.callback(loader.close)
        assistant, ready = loader.load()
        if lane.mode == "sps" and _lacks(lane, request, assistant):
            raise ModelError(f"{ready.no_draft} SpS needs a draft.")
        opened.push(refused.pop_all())
    # A lane has its own mode for good, and the flag that stops them all.
    steering = Control(lane.mode, lane.lookahead)
    steering.cancel = control.cancel
    asked = replace(request, mode=lane.mode, lookahead=lane.lookahead)
    return answering(assistant, asked, steering), ready


def _elsewhere(lane: Lane, request: Request, control: Control, opened: ExitStack) -> LinedUp:
    process = LaneProcess(RACE_LANE, control.cancel)
    opened.callback(process.close)
    said = process.begin(LaneJob(lane, request))
    try:
        ready = next(said)
    except SpecchatError as error:
        return None, failed(error)
    return (None if isinstance(ready, Failed) else _to_the_end(said)), ready


def _to_the_end(said: Iterator[Lap]) -> Iterator[Lap]:
    """Yield the laps of a lane in another process; if that ends, so does the lane, and no other."""
    clock = 0.0
    try:
        for lap in said:
            clock = lap.clock
            yield lap
    except SpecchatError as error:
        yield Lap(0, clock, failed(error))


def _lacks(lane: Lane, request: Request, assistant: Assistant) -> bool:
    """Return whether nothing proposes, or not the draft that was asked for."""
    asked = lane.setup.has_draft and not {*MODELS}.isdisjoint(request.sources)
    unserved = asked and assistant.draft is None
    return unserved or not assistant.sources.keys() & set(request.sources)


def _needed(lane: Lane) -> Setup:
    """Return what a lane loads: no draft that it never asks, no measure that it never uses."""
    if lane.mode == "ars":
        return replace(lane.setup, draft=None, heads=False, measure=False)
    return replace(lane.setup, measure=lane.setup.measure and lane.lookahead is None)


@dataclass(frozen=True, slots=True)
class LaneJob:
    """A lane in a separate process, and what it is to answer."""

    lane: Lane
    request: Request


RACE_LANE = LaneProtocol("assistant.engine.race", LaneJob, Ready | Failed | Lap)


def _run_lane(job: LaneJob, control: Control) -> Iterator[Ready | Failed | Lap]:
    """Yield what loading has come to, and then the laps."""
    with ExitStack() as opened:
        laps, ready = _here(job.lane, job.request, Pool(), control, lambda event: None, opened)
        yield ready
        yield from laps


if __name__ == "__main__":
    serve(RACE_LANE, _run_lane)
