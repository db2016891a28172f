"""A race: the same request in several lanes that share one machine, and never compute at once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from time import perf_counter

from assistant.decoding.lookahead.policy import Control
from assistant.engine.load import Loader
from assistant.engine.reply import Assistant
from assistant.engine.weights_pool import Pool
from assistant.events import (
    Decoded,
    Event,
    Failed,
    Finished,
    Lap,
    Lined,
    Ready,
    Spoken,
)
from assistant.request import Lane, Race, Request, Setup
from models.errors import ModelError, SpecchatError


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
    """An answer under way in one lane, a step at a time."""

    def __init__(self, number: int, assistant: Assistant, request: Request, control: Control):
        self.number = number
        self.clock = LaneClock()
        self.tokens = 0
        """How many tokens it has by now."""
        self.error: SpecchatError | None = None
        """What it ended with, if it failed."""
        self.over = False
        self._answer = assistant.reply(request, control, self.clock)

    def step(self) -> Lap:
        """Compute until there is something to say, which at the end is `Finished` or `Failed`."""
        with self.clock.running():
            try:
                event: Spoken = next(self._answer)
            except SpecchatError as error:
                self.error = error
                event = failed(error)
        if isinstance(event, Decoded):
            self.tokens = event.stats.generated_tokens
        self.over = isinstance(event, Finished | Failed)
        return Lap(self.number, self.clock(), event)


def run(race: Race, pool: Pool, control: Control, emit: Callable[[Event], None]) -> None:
    """Load the lanes, let them race, and free their memory; a lane that fails stops no other.

    Raises:
        SpecchatError: no lane can start.
        Cancelled: somebody stopped it before the start.
    """
    with ExitStack() as opened:
        lanes = [_line_up(lane, race.request, pool, control, emit, opened) for lane in race.lanes]
        if all(assistant is None for assistant, _ in lanes):
            reasons = {ready.message for _, ready in lanes if isinstance(ready, Failed)}
            raise ModelError(" ".join(sorted(reasons)) or "A race needs a lane.")
        emit(Lined(tuple(ready for _, ready in lanes)))
        runners = [
            _runner(number, assistant, race, control)
            for number, (assistant, _) in enumerate(lanes)
            if assistant is not None
        ]
        for lap in laps(runners):
            emit(lap)


def seconds(runner: Runner) -> float:
    """Return for how long a lane has computed: what lanes of a race have equally much of."""
    return runner.clock()


def laps(runners: Sequence[Runner], done: Callable[[Runner], float] = seconds) -> Iterator[Lap]:
    """Step the one that has done least, the first of equals: no two are ever a step apart."""
    running = list(runners)
    while running:
        runner = min(running, key=done)
        yield runner.step()
        if runner.over:
            running.remove(runner)


def failed(error: SpecchatError) -> Failed:
    """Return what is said of an error."""
    return Failed(str(error), type(error).__name__)


def _line_up(
    lane: Lane,
    request: Request,
    pool: Pool,
    control: Control,
    emit: Callable[[Event], None],
    opened: ExitStack,
) -> tuple[Assistant | None, Ready | Failed]:
    """Load a lane's models; without them, return why not."""
    loader = Loader(_needed(lane), control, emit, pool)
    opened.callback(loader.close)
    try:
        assistant, ready = loader.load()
        if lane.mode == "sps" and _lacks(lane, request, assistant):
            raise ModelError(f"{ready.no_draft} SpS needs a draft.")
    except SpecchatError as error:
        loader.close()
        return None, failed(error)
    return assistant, ready


def _lacks(lane: Lane, request: Request, assistant: Assistant) -> bool:
    """Return whether nothing proposes, or not the draft that was asked for."""
    asked = lane.setup.draft is not None and "model" in request.sources
    unserved = asked and assistant.draft is None
    return unserved or not assistant.sources.keys() & set(request.sources)


def _needed(lane: Lane) -> Setup:
    """Return what a lane loads: no draft that it never asks, no measure that it never uses."""
    if lane.mode == "ars":
        return replace(lane.setup, draft=None, measure=False)
    return replace(lane.setup, measure=lane.setup.measure and lane.lookahead is None)


def _runner(number: int, assistant: Assistant, race: Race, control: Control) -> Runner:
    """Return a lane at its start, with its own mode for good and the flag that stops them all."""
    lane = race.lanes[number]
    request = replace(race.request, mode=lane.mode, lookahead=lane.lookahead)
    steering = Control(lane.mode, lane.lookahead)
    steering.cancel = control.cancel
    return Runner(number, assistant, request, steering)
