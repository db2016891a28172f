"""Measure several answers in lockstep; their models stay loaded."""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

from assistant import events
from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.engine.control import Control
from assistant.engine.engine import EngineState
from assistant.engine.load import load
from assistant.engine.race import Runner, take_turns
from assistant.engine.reply import Assistant
from assistant.lab.bench.answers import Compared, Measured
from assistant.lab.protocol import Lockstep, Trial
from assistant.request import EngineArgs
from models.errors import Cancelled, ContextFull, ModelError

STRIDE = 4  # tokens that a system generates while the others wait: a fraction of a second


class TrialLane(NamedTuple):
    """An answer after loading, by models that are its own until it is over."""

    runner: Runner
    ready: events.Ready
    controller: Controller | None  # of the system, for all its answers; None without costs
    before_s: float  # seconds of the draft's steps in earlier answers

    def measure(self, answer_events: Iterable[events.AnswerEvent]) -> Measured | str:
        """Return the measured answer, or why it failed; ModelError if its models cannot go on."""
        pace = dict[int, float]()
        for event in answer_events:
            match event:
                case events.Decoded(stats=stats):
                    pace.setdefault(stats.generated_tokens, stats.decode_s)
                case events.Failed(message, kind):
                    if kind != ContextFull.__name__:
                        raise ModelError(message)
                    return message
                case events.Finished(text, _, stop, stats):
                    if stop is events.Stop.CANCELLED:
                        raise Cancelled
                    steps_s = self.controller.steps_s - self.before_s if self.controller else 0.0
                    return Measured(text, str(stop), stats, pace, steps_s)
        raise AssertionError("an answer ends in one of them")


class TrialRunner:
    """Measure answers; their models are loaded once, and stay until it is closed.

    Each system of a lockstep has contexts, sources and costs of its own, as if it were alone; only
    weights are shared. Its clock stands while it waits. It waits for `STRIDE` tokens of the others:
    short compared with changes in the machine's speed, long compared with refilling the processor's
    caches.

    The system with the fewest tokens goes first. So all are at the same position of their answers,
    after contexts of the same length; and no fast one ends early and leaves the slow ones to
    another minute.
    """

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._loaded = ExitStack()
        self._assistants: dict[tuple[EngineArgs, int], tuple[Assistant, events.Ready]] = {}
        self._controllers: dict[tuple[EngineArgs, str], Controller] = {}

    def measure(self, job: Lockstep) -> Compared:
        """Measure answers as after loading: the common prefix of conversations is cached.

        An answer's time begins when the target's prefill has ended, and ends with the last token.
        Everything between is in it: evaluations, the draft's prefill and its steps, warping,
        verifying, text. Loading and the target's prefill are not. A `ModelError` says that the
        models cannot be loaded, or cannot continue.
        """
        setups = job.setups
        numbers = range(len(setups)) if job.part is None else job.part
        lanes = {i: self._lane(i, job.trials[i], setups[:i].count(setups[i])) for i in numbers}
        await_step = None
        if job.part is not None:
            await_step = self._state.await_step
            self._state.emit(events.RaceReady(tuple(lane.ready for lane in lanes.values())))
        by_lane: dict[int, list[events.AnswerEvent]] = {number: [] for number in numbers}
        for step in take_turns([lane.runner for lane in lanes.values()], _strides, await_step):
            by_lane[step.lane].append(step.event)
            if job.part is not None:
                strides = _strides(lanes[step.lane].runner)
                self._state.emit(events.LaneEvent(step.lane, strides, step.event))
        outcomes = {i: lane.measure(by_lane[i]) for i, lane in lanes.items()}
        return Compared(tuple(outcomes.get(i, "") for i in range(len(setups))))

    def close(self) -> None:
        """Free everything that was loaded."""
        self._loaded.close()

    def _lane(self, number: int, trial: Trial, others: int) -> TrialLane:
        """Return a trial at its start; `others` before it have the same models."""
        (assistant, ready), request = self._assistant(trial.setup, others), trial.request
        if request.mode == "sps" and not assistant.sources.keys() & set(request.sources):
            raise ModelError(f"SpS needs a draft. {ready.no_draft}")
        controller = None
        if assistant.profile:
            key, costs = (trial.setup, trial.system), Costs(*assistant.profile.seconds)
            controller = self._controllers.setdefault(key, Controller(costs))
        assistant.controller = controller
        for model in filter(None, (assistant.target, assistant.draft)):
            model.logits([0])  # removes the prompt from the cache
        control = Control(request.mode, request.lookahead, self._state.control.cancel)
        if controller:
            assistant.prefill_common_prefix(control)
        before_s = controller.steps_s if controller else 0.0
        return TrialLane(Runner(number, assistant, request, control), ready, controller, before_s)

    def _assistant(self, setup: EngineArgs, others: int) -> tuple[Assistant, events.Ready]:
        if (setup, others) not in self._assistants:
            bare = replace(setup, recalls=False, snapshots=0)
            assistant, ready = load(bare, self._state.control, self._state.emit, self._loaded)
            self._assistants[setup, others] = assistant, ready
        return self._assistants[setup, others]


def _strides(runner: Runner) -> int:
    return runner.tokens // STRIDE
