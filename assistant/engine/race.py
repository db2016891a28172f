"""A race: the same request in several lanes that share one machine and take turns to compute."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from time import perf_counter
from typing import Any

from assistant import events
from assistant.engine.control import Control
from assistant.engine.load import load
from assistant.engine.reply import Assistant
from assistant.request import Lane, Race, Request
from models.errors import ModelError, SpecchatError


class Runner:
    """The answer of one lane, computed a step at a time and timed by a clock of its own."""

    def __init__(
        self, number: int, assistant: Assistant, request: Request, control: Control
    ) -> None:
        self.number = number
        self.tokens = 0  # generated so far
        self.is_over = False
        self._elapsed = 0.0
        self._since: float | None = None  # when the step began; None between two steps
        self._answer = assistant.reply(request, control, self.clock)

    def clock(self) -> float:
        """Return the seconds that it has computed, without those of other lanes."""
        running = perf_counter() - self._since if self._since is not None else 0.0
        return self._elapsed + running

    def step(self) -> events.LaneEvent:
        """Compute until the next event and return it; the last one is `Finished` or `Failed`."""
        self._since = perf_counter()
        try:
            event: events.AnswerEvent = next(self._answer)
        except SpecchatError as error:
            event = events.Failed.of(error)
        self._elapsed, self._since = self.clock(), None
        if isinstance(event, events.Decoded):
            self.tokens = event.stats.generated_tokens
        self.is_over = isinstance(event, events.Finished | events.Failed)
        return events.LaneEvent(self.number, self._elapsed, event)


def run(
    race: Race, control: Control, emit: Callable[[Any], None], await_step: Callable[[], object]
) -> events.RaceOver:
    """Load the lanes, run them in turns, and free their memory. A lane that fails ends alone.

    A `SpecchatError` says why no lane can start; `Cancelled`, that it was stopped before.
    """
    numbers = range(len(race.lanes)) if race.part is None else race.part
    with ExitStack() as opened:
        runners: list[Runner] = []
        results: list[events.Ready | events.Failed] = []
        for number in numbers:
            lane = race.lanes[number]
            try:
                assistant, ready = _load(lane, race.request, control, emit, opened)
                results.append(ready)
            except SpecchatError as error:
                results.append(events.Failed.of(error))
                continue
            # The mode of a lane is fixed; one cancel flag stops all of them.
            lane_control = Control(lane.mode, lane.lookahead, control.cancel)
            request = replace(race.request, mode=lane.mode, lookahead=lane.lookahead)
            runners.append(Runner(number, assistant, request, lane_control))
        if not runners:
            reasons = {result.message for result in results if isinstance(result, events.Failed)}
            raise ModelError(" ".join(sorted(reasons)) or "A race needs a lane.")
        emit(events.RaceReady(tuple(results)))
        for event in take_turns(runners, Runner.clock, await_step if race.part else None):
            emit(event)
    return events.RaceOver()


def take_turns(
    runners: Sequence[Runner],
    progress: Callable[[Runner], float],
    await_step: Callable[[], object] | None = None,
) -> Iterator[events.LaneEvent]:
    """Step the lane with the least `progress`, until all have ended; the first of equals first.

    No lane is ever more than one step ahead of another. `await_step` is called before each step.
    """
    running = list(runners)
    while running:
        if await_step:
            await_step()
        runner = min(running, key=progress)
        yield runner.step()
        if runner.is_over:
            running.remove(runner)


def _load(
    lane: Lane, request: Request, control: Control, emit: Callable[[Any], None], opened: ExitStack
) -> tuple[Assistant, events.Ready]:
    """Load a lane's models; SpecchatError if they are of no use, or SpS has nothing to propose."""
    if lane.mode == "ars":  # it uses no draft, and needs no costs
        setup = replace(lane.setup, draft=None, measure=False)
    else:
        setup = replace(lane.setup, measure=lane.setup.measure and lane.lookahead is None)
    with ExitStack() as models:
        assistant, ready = load(setup, control, emit, models)
        if lane.mode == "sps":
            needs_model = lane.setup.draft is not None and "model" in request.sources
            lacks_model = needs_model and assistant.draft is None
            if lacks_model or not assistant.sources.keys() & set(request.sources):
                raise ModelError(f"SpS needs a draft. {ready.no_draft}")
        opened.push(models.pop_all())
    return assistant, ready
