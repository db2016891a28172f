"""An answer that is measured, a step at a time: in this process, or in another."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

from assistant.chat.prompt_tokens import ChatTokens
from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.policy import Control
from assistant.decoding.loops import Round
from assistant.decoding.sources.draft import Plan
from assistant.engine.race import Runner, answering
from assistant.engine.reply import Assistant
from assistant.events import Decoded, Failed, Finished, Noticed, Ready, Spoken, Stop
from assistant.lab.bench.events import CostCurves, Measured, Profile, TimedRound
from assistant.lab.bench.source_profile import profile
from assistant.lab.protocol import Trial
from assistant.process.lane_process import LaneProcess
from models.errors import Cancelled, ContextFull, ModelError

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
        return CostCurves({n: self.costs.evaluation(n) for n in WIDTHS}, draft)


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
        fillers: int = 0,
        again: int = 0,
    ) -> None:
        """Note what a round cost, and learn from it."""
        ((round_, _),) = rounds
        timed = TimedRound(round_.proposed + 1, len(round_.tokens), seconds - draft_s, draft_s)
        self.rounds.append(timed)
        super().observe(rounds, seconds, draft_s, tables_s, fillers, again)


class LocalLane:
    """An answer from cold caches, in this process, by a pair that is its own until it is over.

    `recording` is what the system has learnt so far; None without costs.

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
        self.runner = Runner(number, answering(assistant, request, steering))

    def hear(self, event: Spoken) -> None:
        """Take what the answer says."""
        self._said.append(event)

    def measured(self) -> Measured | str:
        """Return what came of it, and of judging sources along it; or why nothing did.

        Raises:
            ModelError: the models could not continue.
            Cancelled: it was stopped.
        """
        failure, last = self.runner.failure, self._said[-1]
        if failure:
            return _refusal(failure)
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


class RemoteLane:
    """The same in another process, which has another engine."""

    def __init__(self, number: int, trial: Trial, process: LaneProcess) -> None:
        self._said = process.begin(trial)
        self.runner = Runner(number, self._said)

    def hear(self, event: Spoken) -> None:
        """Note whether it was stopped; the rest is the process's own to hear."""
        if isinstance(event, Finished) and event.stop is Stop.CANCELLED:
            raise Cancelled

    def measured(self) -> Measured | str:
        """Return what the process says in the end."""
        if self.runner.failure:
            return _refusal(self.runner.failure)
        end: Measured | Failed = next(self._said)
        return _refusal(end) if isinstance(end, Failed) else end


def _refusal(failure: Failed) -> str:
    """Return why an answer failed, where others may still be measured.

    Raises:
        ModelError: the models could not continue.
    """
    if failure.kind == ContextFull.__name__:
        return failure.message
    raise ModelError(failure.message)
