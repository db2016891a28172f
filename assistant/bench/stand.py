"""Where answers are measured: loaded pairs, each answer from cold caches."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

from assistant.assistant import Assistant
from assistant.bench.findings import CostCurves, Measured, Profile, Timed
from assistant.bench.profiling import profile
from assistant.chat.tokens import ChatTokens
from assistant.control import Control
from assistant.decoding import Round
from assistant.drafting.draft import Plan
from assistant.events import Event, Finished, Noticed, Stop
from assistant.loading import Loader, Pool
from assistant.lookahead.controller import Controller
from assistant.lookahead.costs import Costs
from assistant.lookahead.known import cached_or_measured
from assistant.request import Request, Setup, Trial
from models.errors import Cancelled, ModelError
from models.llama.model import LlamaModel

WIDTHS = range(1, 33)
READINGS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Recording(Controller):
    """A controller that keeps what it observes."""

    def __init__(self, costs: Costs) -> None:
        super().__init__(costs)
        self.rounds: list[Timed] = []

    def observe(self, round_: Round, plan: Plan, seconds: float, draft_s: float) -> None:
        """Note what a round cost, and learn from it."""
        timed = Timed(round_.proposed + 1, len(round_.tokens), seconds - draft_s, draft_s)
        self.rounds.append(timed)
        super().observe(round_, plan, seconds, draft_s)


class Stand:
    """Measure answers; whatever pairs they need are loaded once and stay until it is closed."""

    def __init__(self, pool: Pool, control: Control, emit: Callable[[Event], None]) -> None:
        self._pool, self._control, self._emit = pool, control, emit
        self._pairs: dict[Setup, _Pair] = {}

    def measure(self, trial: Trial) -> Measured:
        """Answer from cold caches, and judge sources along the answer if that is asked for.

        Raises:
            ModelError: the models cannot be loaded, or cannot go on.
            Cancelled: somebody stopped it.
        """
        if trial.setup not in self._pairs:
            self._pairs[trial.setup] = _Pair(trial.setup, self._pool, self._control, self._emit)
        return self._pairs[trial.setup].measure(trial, self._control)

    def close(self) -> None:
        """Free everything that was loaded."""
        for pair in self._pairs.values():
            pair.close()
        self._pairs.clear()


class _Pair:
    """A loaded pair, and what each system has learnt with it."""

    def __init__(
        self, setup: Setup, pool: Pool, control: Control, emit: Callable[[Event], None]
    ) -> None:
        bare = replace(setup, measure=False, recalls=False, snapshots=0)
        self._loader = Loader(bare, control, emit, pool)
        self._assistant, self._ready = self._loader.load()
        try:
            self._costs = self._measured(setup)
        except BaseException:  # nobody else could free what was loaded
            self._loader.close()
            raise
        self._learnt: dict[str, Recording] = {}
        self._chat = ChatTokens(self._assistant.vocab)

    def close(self) -> None:
        self._loader.close()

    def measure(self, trial: Trial, control: Control) -> Measured:
        assistant, request = self._assistant, trial.request
        self._check(request)
        recording = self._recording(trial.system)
        assistant.controller = recording
        for model in (assistant.target, assistant.draft):
            if model:
                model.logits([0])  # forgets the prompt
        last, notice = _answered(assistant, request, control)
        if last.stop is Stop.CANCELLED:
            raise Cancelled
        rounds = tuple(recording.rounds) if recording else ()
        found = self._profile(trial, last, control) if trial.profiled else None
        about = (self._ready.target, self._ready.draft)
        names: dict[str, str] = {each.role: each.name for each in about if each}
        return Measured(
            last.text, str(last.stop), last.stats, rounds, self._curves(), found, names, notice
        )

    def _check(self, request: Request) -> None:
        """Refuse to measure SpS where nothing can propose."""
        if request.mode == "sps" and not self._assistant.sources.keys() & set(request.sources):
            raise ModelError(f"{self._ready.no_draft} SpS needs a draft.")

    def _measured(self, setup: Setup) -> Costs | None:
        target, draft = self._assistant.target, self._assistant.draft
        if not isinstance(target, LlamaModel) or not target.can_roll_back:
            return None
        known = draft if isinstance(draft, LlamaModel) else None
        return cached_or_measured(target, known, setup.cache)

    def _curves(self) -> CostCurves | None:
        costs = self._costs
        if costs is None:
            return None
        draft = {n: costs.draft(n) for n in READINGS} if self._assistant.draft else {}
        return CostCurves({n: costs.verify(n) for n in WIDTHS}, draft)

    def _recording(self, system: str) -> Recording | None:
        """Return what a system has learnt so far, with no rounds noted."""
        if self._costs is None:
            return None
        if system not in self._learnt:
            self._learnt[system] = Recording(deepcopy(self._costs))
        self._learnt[system].rounds.clear()
        return self._learnt[system]

    def _profile(self, trial: Trial, last: Finished, control: Control) -> Profile | None:
        sources = self._assistant.sources
        wanted = [sources[name] for name in trial.profiled if name in sources]
        ids = last.token_ids
        if not wanted or not ids:
            return None
        prompt = self._chat.encode(trial.request.messages)
        return profile(self._assistant.target, wanted, prompt, ids, trial.request.sampling, control)


def _answered(
    assistant: Assistant, request: Request, control: Control
) -> tuple[Finished, str | None]:
    steering = Control(request.mode, request.lookahead)
    steering.cancel = control.cancel
    events = list(assistant.reply(request, steering))
    notices = [event.text for event in events if isinstance(event, Noticed)]
    last = events[-1]
    assert isinstance(last, Finished)
    return last, " ".join(notices) or None
