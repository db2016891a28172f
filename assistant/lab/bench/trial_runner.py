"""Where answers are measured: loaded models, and several answers in lockstep."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, replace

from assistant.chat.prompt_tokens import ChatTokens
from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.machine_cache import cached_or_measured
from assistant.decoding.lookahead.policy import Control
from assistant.decoding.loops import Round
from assistant.decoding.sources.draft import Plan
from assistant.engine.load import Loader
from assistant.engine.race import Runner, laps
from assistant.engine.reply import Assistant
from assistant.engine.weights_pool import Pool
from assistant.events import Decoded, Event, Finished, Noticed, Ready, Spoken, Stop
from assistant.lab.bench.events import Compared, CostCurves, Measured, Profile, TimedRound
from assistant.lab.bench.source_profile import profile
from assistant.lab.protocol import Lockstep, Trial
from assistant.request import Setup
from models.errors import Cancelled, ContextFull, ModelError
from models.native.model import NativeModel

STRIDE = 4
"""Tokens that a system generates while the others wait: a fraction of a second."""
WIDTHS = range(1, 33)
READINGS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


@dataclass(frozen=True, slots=True)
class LoadedPair:
    """Loaded models, and what their evaluations cost before any round was seen."""

    assistant: Assistant
    ready: Ready
    costs: Costs | None

    @property
    def curves(self) -> CostCurves | None:
        """The costs as they are noted down."""
        if self.costs is None:
            return None
        draft = {n: self.costs.draft(n) for n in READINGS} if self.assistant.draft else {}
        return CostCurves({n: self.costs.verify(n) for n in WIDTHS}, draft)


class Recording(Controller):
    """A controller that learns from costs of its own, and keeps what it observes."""

    def __init__(self, costs: Costs) -> None:
        super().__init__(deepcopy(costs))
        self.rounds: list[TimedRound] = []

    def observe(
        self,
        rounds: Sequence[tuple[Round, Plan]],
        seconds: float,
        draft_s: float = 0.0,
        tables_s: float = 0.0,
    ) -> None:
        """Note what a round cost, and learn from it."""
        ((round_, _),) = rounds
        timed = TimedRound(round_.proposed + 1, len(round_.tokens), seconds - draft_s, draft_s)
        self.rounds.append(timed)
        super().observe(rounds, seconds, draft_s, tables_s)


class LockstepLane:
    """An answer from cold caches, a step at a time.

    Args:
        number: its place among those that are measured together.
        trial: what is asked of which system.
        pair: models that nobody else uses until it is over.
        recording: what the system has learnt so far; None without costs.
        control: its flag stops the answer.

    Raises:
        ModelError: it is to be SpS, and nothing can propose.
    """

    def __init__(
        self,
        number: int,
        trial: Trial,
        pair: LoadedPair,
        recording: Recording | None,
        control: Control,
    ) -> None:
        request, assistant = trial.request, pair.assistant
        if request.mode == "sps" and not assistant.sources.keys() & set(request.sources):
            raise ModelError(f"{pair.ready.no_draft} SpS needs a draft.")
        self._trial, self._pair = trial, pair
        self._recording, self._control = recording, control
        self._said: list[Spoken] = []
        assistant.controller = recording
        if recording:
            recording.rounds.clear()
        for model in (assistant.target, assistant.draft):
            if model:
                model.logits([0])  # forgets the prompt
        steering = Control(request.mode, request.lookahead)
        steering.cancel = control.cancel
        self.runner = Runner(number, assistant, request, steering)

    def hear(self, event: Spoken) -> None:
        """Take what the answer says."""
        self._said.append(event)

    def measured(self) -> Measured | str:
        """Return what came of it, and of judging sources along it; or why nothing did.

        Raises:
            ModelError: the models could not go on.
            Cancelled: somebody stopped it.
        """
        error, last = self.runner.error, self._said[-1]
        if isinstance(error, ContextFull):
            return str(error)
        if error:
            raise error
        assert isinstance(last, Finished)
        if last.stop is Stop.CANCELLED:
            raise Cancelled
        about = (self._pair.ready.target, self._pair.ready.draft)
        notices = [event.text for event in self._said if isinstance(event, Noticed)]
        return Measured(
            last.text,
            str(last.stop),
            last.stats,
            tuple(self._recording.rounds) if self._recording else (),
            self._pair.curves,
            self._profile(last.token_ids),
            {each.role: each.name for each in about if each},
            " ".join(notices) or None,
            self._pace(),
        )

    def _pace(self) -> dict[int, float]:
        """Return the seconds by tokens after each round."""
        seconds: dict[int, float] = {}
        for event in self._said:
            if isinstance(event, Decoded):
                seconds.setdefault(event.stats.generated_tokens, event.stats.decode_s)
        return seconds

    def _profile(self, answer: Sequence[int]) -> Profile | None:
        assistant, request = self._pair.assistant, self._trial.request
        known, names = assistant.sources, self._trial.profiled
        wanted = [known[name] for name in names if name in known]
        if not wanted or not answer:
            return None
        prompt = ChatTokens(assistant.vocab).encode(request.messages)
        return profile(assistant.target, wanted, prompt, answer, request.sampling, self._control)


class TrialRunner:
    """Measure answers; what they need is loaded once, and stays until it is closed.

    Each system of a lockstep has contexts, sources and costs of its own, as if it were alone; only
    weights are shared. Its clock stands while it waits. It waits for `STRIDE` tokens of the others:
    short against the moods of a machine, long against what it takes to have its own data in the
    processor's caches again.

    The fewest tokens go first, and not the least time. So all are at the same place of their
    answers, after contexts of the same length, whatever the machine does; and no fast one ends
    early and leaves the slow ones to another minute.
    """

    def __init__(self, pool: Pool, control: Control, emit: Callable[[Event], None]) -> None:
        self._pool, self._control, self._emit = pool, control, emit
        self._loaded = ExitStack()
        self._pairs: dict[tuple[Setup, int], LoadedPair] = {}
        self._costs: dict[Setup, Costs | None] = {}
        self._learnt: dict[tuple[Setup, str], Recording] = {}

    def measure(self, job: Lockstep) -> Compared:
        """Answer from cold caches, and judge sources along the answers if that is asked for.

        An answer's time begins when the target has read the prompt, and ends with the last token.
        Everything between is in it: evaluations, the draft's reading of the prompt and its steps,
        warping, verifying, text. Loading, the target's reading and the judging of sources are not.

        Raises:
            ModelError: the models cannot be loaded, or cannot go on.
            Cancelled: somebody stopped it.
        """
        setups = [trial.setup for trial in job.trials]
        lanes = [
            self._lane(i, trial, setups[:i].count(trial.setup))
            for i, trial in enumerate(job.trials)
        ]
        for lap in laps([lane.runner for lane in lanes], _strides):
            lanes[lap.lane].hear(lap.event)
        return Compared(tuple(lane.measured() for lane in lanes))

    def close(self) -> None:
        """Free everything that was loaded."""
        self._loaded.close()

    def _lane(self, number: int, trial: Trial, others: int) -> LockstepLane:
        """Return a trial at its start; `others` of the same lockstep have the same models."""
        pair = self._pair(trial.setup, others)
        learnt = None
        if pair.costs:
            key = trial.setup, trial.system
            learnt = self._learnt.setdefault(key, Recording(pair.costs))
        return LockstepLane(number, trial, pair, learnt, self._control)

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
