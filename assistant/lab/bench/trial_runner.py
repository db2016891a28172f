"""Measure several answers in lockstep, each with models that stay loaded."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.machine_cache import cached_or_measured
from assistant.decoding.lookahead.policy import Control
from assistant.engine.load import Loader
from assistant.engine.race import Runner, in_turns
from assistant.engine.reply import Assistant
from assistant.engine.weights_pool import Pool
from assistant.events import Event, Failed, Lap
from assistant.lab.bench.events import Compared, Measured
from assistant.lab.bench.trial_lane import LoadedPair, LocalLane, Recording, RemoteLane
from assistant.lab.protocol import Lockstep, Trial
from assistant.process.lane_process import LaneProcess, LaneProtocol, serve
from assistant.request import Setup
from models.errors import ContextFull, OtherEngine
from models.native.model import NativeModel

STRIDE = 4
"""Tokens that a system generates while the others wait: a fraction of a second."""


class TrialRunner:
    """Measure answers; what they need is loaded once, and stays until it is closed.

    Each system of a lockstep has contexts, sources and costs of its own, as if it were alone; only
    weights are shared. Its clock stands while it waits. It waits for `STRIDE` tokens of the others:
    short compared with changes in the machine's speed, long compared with refilling the processor's
    caches.

    The fewest tokens go first, and not the least time. So all are at the same place of their
    answers, after contexts of the same length, whatever the machine does; and no fast one ends
    early and leaves the slow ones to another minute.
    """

    def __init__(self, pool: Pool, control: Control, emit: Callable[[Event], None]) -> None:
        self._pool, self._control, self._emit = pool, control, emit
        self._loaded = ExitStack()
        self._pairs: dict[tuple[Setup, int], LoadedPair] = {}
        self._costs: dict[Setup, Costs | None] = {}
        self._processes: dict[tuple[Setup, int], LaneProcess] = {}
        self._learnt: dict[tuple[Setup, str], Recording] = {}

    def measure(self, job: Lockstep) -> Compared:
        """Answer from cold caches, and judge sources along the answers if that is asked for.

        An answer's time begins when the target has read the prompt, and ends with the last token.
        Everything between is in it: evaluations, the draft's reading of the prompt and its steps,
        warping, verifying, text. Loading, the target's reading and the judging of sources are not.

        Raises:
            ModelError: the models cannot be loaded, or cannot continue.
            Cancelled: it was stopped.
        """
        setups = [trial.setup for trial in job.trials]
        lanes = [
            self._lane(i, trial, setups[:i].count(trial.setup))
            for i, trial in enumerate(job.trials)
        ]
        for lap in in_turns([lane.runner for lane in lanes], _strides):
            lanes[lap.lane].hear(lap.event)
        return Compared(tuple(lane.measured() for lane in lanes))

    def close(self) -> None:
        """Free everything that was loaded."""
        self._loaded.close()

    def _lane(self, number: int, trial: Trial, others: int) -> LocalLane | RemoteLane:
        """Return a trial at its start; `others` of the same lockstep have the same models."""
        try:
            return self.local_lane(number, trial, others)
        except OtherEngine:
            key = trial.setup, others
            if key not in self._processes:
                self._processes[key] = LaneProcess(TRIAL_LANE, self._control.cancel)
                self._loaded.callback(self._processes[key].close)
            return RemoteLane(number, trial, self._processes[key])

    def local_lane(self, number: int, trial: Trial, others: int = 0) -> LocalLane:
        """Return a trial at its start, in this process.

        Raises:
            OtherEngine: it needs one that this process does not have.
            ModelError: its models cannot be loaded.
            Cancelled: it was stopped.
        """
        pair = self._pair(trial.setup, others)
        learnt = None
        if pair.costs:
            key = trial.setup, trial.system
            learnt = self._learnt.setdefault(key, Recording(pair.costs))
        return LocalLane(number, trial, pair, learnt, self._control)

    def _pair(self, setup: Setup, others: int) -> LoadedPair:
        if (setup, others) not in self._pairs:
            bare = replace(setup, measure=False, recalls=False, snapshots=0)
            loader = Loader(bare, self._control, self._emit, self._pool)
            assistant, ready = loader.load()
            self._loaded.callback(loader.close)
            if setup not in self._costs:
                self._costs[setup] = _measured(assistant, setup)
            self._pairs[setup, others] = LoadedPair(assistant, ready, self._costs[setup])
        return self._pairs[setup, others]


def _measured(assistant: Assistant, setup: Setup) -> Costs | None:
    target, draft = assistant.target, assistant.draft
    if not isinstance(target, NativeModel) or not target.can_roll_back:
        return None
    return cached_or_measured(
        target, draft if isinstance(draft, NativeModel) else None, setup.cache
    )


def _strides(runner: Runner) -> int:
    """Return how many whole strides an answer is long."""
    return runner.tokens // STRIDE


TRIAL_LANE = LaneProtocol("assistant.lab.bench.trial_runner", Trial, Lap | Measured | Failed)


def _served() -> Callable[[Trial, Control], Iterator[Lap | Measured | Failed]]:
    """Return what runs trials one after another in a process of their own."""
    control = Control()
    runner = TrialRunner(Pool(), control, lambda event: None)

    def run(trial: Trial, asked: Control) -> Iterator[Lap | Measured | Failed]:
        control.cancel = asked.cancel
        lane = runner.local_lane(0, trial)
        while not lane.runner.over:
            lap = lane.runner.step()
            lane.hear(lap.event)
            yield lap
        found = lane.measured()
        yield Failed(found, ContextFull.__name__) if isinstance(found, str) else found

    return run


if __name__ == "__main__":
    serve(TRIAL_LANE, _served())
