"""A race: the same request in several lanes that share one machine and take turns to compute."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from time import perf_counter

from assistant.draft_sources import COMPUTING
from assistant.engine.engine_state import EngineState
from assistant.engine.load import Loader
from assistant.engine.policy import Control
from assistant.engine.reply import Assistant
from assistant.events import (
    AnswerEvent,
    Decoded,
    Failed,
    Finished,
    LaneEvent,
    RaceOver,
    RaceReady,
    Ready,
)
from assistant.request import Lane, Race, Request, Setup
from models.errors import ModelError, SpecchatError


class LaneClock:
    """Measure the seconds that a lane computes; the clock is stopped while other lanes compute."""

    def __init__(self) -> None:
        self._elapsed = 0.0
        self._since: float | None = None  # None: it stands

    def __call__(self) -> float:
        """Return the seconds measured so far."""
        running = perf_counter() - self._since if self._since is not None else 0.0
        return self._elapsed + running

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the clock inside a `with` block."""
        self._since = perf_counter()
        try:
            yield
        finally:
            self._elapsed, self._since = self(), None


class Runner:
    """The answer of one lane, computed a step at a time and timed by its own clock."""

    def __init__(
        self, number: int, assistant: Assistant, request: Request, control: Control
    ) -> None:
        self.number = number
        self.tokens = 0
        """Tokens generated so far."""
        self.failure: Failed | None = None
        """Its last event, if it failed."""
        self.over = False
        self._clock = LaneClock()
        self._answer = assistant.reply(request, control, self._clock)

    @property
    def seconds(self) -> float:
        """Seconds that it has computed."""
        return self._clock()

    def step(self) -> LaneEvent:
        """Compute until the next event and return it; the last one is `Finished` or `Failed`."""
        with self._clock.running():
            try:
                event: AnswerEvent = next(self._answer)
            except SpecchatError as error:
                event = failed(error)
        match event:
            case Decoded(stats=stats):
                self.tokens = stats.generated_tokens
            case Failed() as failure:
                self.failure = failure
        self.over = isinstance(event, Finished | Failed)
        return LaneEvent(self.number, self._clock(), event)


def run(race: Race, state: EngineState) -> RaceOver:
    """Load the lanes, run them in turns, and free their memory. A lane that fails ends alone.

    Raises:
        SpecchatError: no lane can start.
        Cancelled: it was stopped before the start.
    """
    numbers = range(len(race.lanes)) if race.part is None else race.part
    with ExitStack() as opened:
        runners: list[Runner] = []
        lined: list[Ready | Failed] = []
        for number in numbers:
            try:
                assistant, ready = _load(race.lanes[number], race.request, state, opened)
                runners.append(_runner(number, race, assistant, state))
                lined.append(ready)
            except SpecchatError as error:
                lined.append(failed(error))
        if not runners:
            reasons = {ready.message for ready in lined if isinstance(ready, Failed)}
            raise ModelError(" ".join(sorted(reasons)) or "A race needs a lane.")
        state.emit(RaceReady(tuple(lined)))
        for lap in in_turns(runners, seconds, state.await_step if race.part else None):
            state.emit(lap)
    return RaceOver()


def seconds(runner: Runner) -> float:
    """Return how long a lane has computed; a race gives all lanes equal computing time."""
    return runner.seconds


def in_turns(
    runners: Sequence[Runner],
    done: Callable[[Runner], float] = seconds,
    await_step: Callable[[], bool] | None = None,
) -> Iterator[LaneEvent]:
    """Step the lane that has done least, again and again; the first of equals goes first.

    No lane is ever more than one step ahead of another. `await_step` is called before each step
    until it returns False.
    """
    running = list(runners)
    while running:
        if await_step and not await_step():
            await_step = None
        runner = min(running, key=done)
        yield runner.step()
        if runner.over:
            running.remove(runner)


def failed(error: SpecchatError) -> Failed:
    """Return an error as an event."""
    return Failed(str(error), type(error).__name__)


def _load(
    lane: Lane, request: Request, state: EngineState, opened: ExitStack
) -> tuple[Assistant, Ready]:
    """Load a lane's models."""
    with ExitStack() as refused:
        loader = Loader(_needed(lane), state.control, state.emit)
        refused.callback(loader.close)
        assistant, ready = loader.load()
        if lane.mode == "sps" and _lacks(lane, request, assistant):
            raise ModelError(f"{ready.no_draft} SpS needs a draft.")
        opened.push(refused.pop_all())
    return assistant, ready


def _runner(number: int, race: Race, assistant: Assistant, state: EngineState) -> Runner:
    """Return a lane at its start. Its mode is fixed; one cancel flag stops all lanes."""
    lane = race.lanes[number]
    steering = Control(lane.mode, lane.lookahead)
    steering.cancel = state.control.cancel
    asked = replace(race.request, mode=lane.mode, lookahead=lane.lookahead)
    return Runner(number, assistant, asked, steering)


def _lacks(lane: Lane, request: Request, assistant: Assistant) -> bool:
    """Return whether nothing proposes, or not the draft that was asked for."""
    asked = lane.setup.has_draft and not COMPUTING.isdisjoint(request.sources)
    unserved = asked and assistant.draft is None
    return unserved or not assistant.sources.keys() & set(request.sources)


def _needed(lane: Lane) -> Setup:
    """Return the setup of a lane without what its mode never uses: draft, cost measurement."""
    if lane.mode == "ars":
        return replace(lane.setup, draft=None, heads=False, measure=False)
    return replace(lane.setup, measure=lane.setup.measure and lane.lookahead is None)
