"""The shipped rounds over recorded answers, on machines whose evaluations take what is pinned here.

What is not as in a chat: evaluations do not vary, a draft has read as much as it ever would in
whatever window it is, and what it would say after another source's wrong token is taken from the
same place of the answer. All that is equal before and after a change of the rounds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Curve
from assistant.decoding.loops import Round
from assistant.decoding.row import Row
from assistant.decoding.sources.draft import Cascade
from assistant.decoding.sources.model import ModelSource, VocabularyMapping
from assistant.decoding.sources.suffix import SuffixSource, TailSource
from assistant.decoding.warp import Warp, warp
from assistant.engine.control import Control
from assistant.engine.rounds import PlannedRound, Rounds
from assistant.engine.sources.ngram import NgramSource, open_tables
from assistant.engine.sources.ngram_store import BUNDLED
from assistant.lab.prove.proof import as_it_is
from models import catalog
from models.base import common_prefix_length
from tests.assistant.engine.simulated_model import SimulatedModel
from tests.tools.replay.recording import OFF, Answer, dense

Seconds = Mapping[int, float]  # of an evaluation, by its tokens
HERE = {1: 0.033, 2: 0.040, 3: 0.049, 4: 0.059, 5: 0.064, 8: 0.098, 16: 0.165, 32: 0.325}
HERE_DRAFT = {1: 0.0083, 2: 0.0103, 8: 0.024, 64: 0.150, 512: 1.17}
SLOW = {1: 0.105, 2: 0.138, 4: 0.220, 8: 0.40, 16: 0.78, 32: 1.52}
SLOW_DRAFT = {1: 0.024, 2: 0.031, 8: 0.077, 64: 0.48, 512: 3.8}
IK = {1: 0.102, 2: 0.113, 3: 0.131, 4: 0.156, 5: 0.204, 6: 0.22, 8: 0.247, 16: 0.511, 32: 0.98}
LLAMA = {1: 0.098, 2: 0.166, 3: 0.215, 4: 0.199, 5: 0.253, 8: 0.399, 16: 0.514, 32: 1.0}
F16 = {1: 0.097, 2: 0.107, 3: 0.119, 4: 0.149, 5: 0.161, 8: 0.215, 16: 0.372, 32: 0.685}
GPU = {1: 0.020, 4: 0.0205, 8: 0.021, 16: 0.022, 32: 0.025}
MACHINES: dict[str, tuple[Seconds, Seconds]] = {  # measured, except the GPU
    "two cores, 4-bit": (HERE, HERE_DRAFT),
    "slow processor": (SLOW, SLOW_DRAFT),
    "Xeon, ik_llama.cpp": (IK, SLOW_DRAFT),
    "Xeon, llama.cpp": (LLAMA, SLOW_DRAFT),
    "F16": (F16, {1: 0.013, 2: 0.022, 8: 0.06, 64: 0.35, 512: 2.8}),
    "GPU": (GPU, {1: 0.002, 8: 0.002, 64: 0.003, 512: 0.010}),
}


@dataclass
class Machine:
    """A clock that evaluations move."""

    now: float = 0.0


class ReplayModel(SimulatedModel):
    """A model whose evaluations take what a machine takes, and whose rows `row_after` gives."""

    n_vocab = 1 << 18  # its rows are not made of logits

    def __init__(
        self,
        seconds: Seconds,
        machine: Machine,
        row_after: Callable[[Sequence[int]], Row] | None = None,
    ) -> None:
        curve = Curve(seconds)

        def evaluate(width: int, depth: int) -> float:
            machine.now += curve(width)
            return curve(width)

        super().__init__(evaluate, n_ctx=8192)
        self._row_after = row_after

    def rows_after(self, texts: Sequence[Sequence[int]]) -> Any:
        """Return rows of the answer; they are warped already."""
        return [self._row_after(tokens) for tokens in texts] if self._row_after else []


class ReplaySource(ModelSource):
    """A draft model that says what was recorded, in whatever window it is."""

    def __init__(self, model: ReplayModel, rows_after: Callable[[Sequence[int]], Row]) -> None:
        n_vocab = 1 << 18
        super().__init__(model, VocabularyMapping.identity(n_vocab, n_vocab))
        self._rows_after = rows_after

    def row(self, tokens: Sequence[int], warp: Warp) -> tuple[Row, int]:
        """Return the recorded row, after the time of its evaluation."""
        self.model.logits(self.window_tokens(tokens))
        row = self._rows_after(tokens)
        return row, row.margin or 0


class WarpedAnswer:
    """The rows of a recorded answer, warped as it was sampled."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self._text = [*answer.prompt, *answer.tokens]
        self._target, self._draft, self._off = map(
            self._warped, (answer.target, answer.draft, answer.off)
        )

    def _warped(self, rows: Sequence[Row]) -> list[Row]:
        sampling, n_vocab = self.answer.question.sampling, self.answer.n_vocab
        return [warp(dense(row, n_vocab), sampling, ()) for row in rows]

    def _place(self, tokens: Sequence[int]) -> int:
        return min(len(tokens) - len(self.answer.prompt), len(self.answer.tokens) - 1)

    def target(self, tokens: Sequence[int]) -> Row:
        """Return the target's row after a text; of one that is not the answer's, any row."""
        return self._target[self._place(tokens)]

    def draft(self, tokens: Sequence[int]) -> Row:
        """Return the draft's row after a text."""
        same = common_prefix_length(self._text, tokens)
        wrong, place = same - len(self.answer.prompt), self._place(tokens)
        if same < len(tokens) <= same + OFF and wrong in self.answer.off_places:
            return self._off[self.answer.off_places.index(wrong) + len(tokens) - same - 1]
        return self._draft[place]


@dataclass
class Replayed:
    """What became of an answer."""

    answer: Answer
    tokens: list[int]
    rounds: list[Round]
    seconds: float
    plain_s: float
    staked: float  # evaluations: what proposals and the draft's prefill took beyond plain rounds
    lost: float  # evaluations by which it was later than plain decoding, at most

    @property
    def speedup(self) -> float:
        """How many times as fast as plain decoding it was."""
        return self.plain_s / self.seconds

    @property
    def lit(self) -> float:
        """The share of tokens that were proposed and accepted."""
        return sum(round_.accepted for round_ in self.rounds) / len(self.tokens)

    @property
    def notes(self) -> str:
        """Every round: the sources of its proposals by their first letters, and the accepted."""
        return " ".join(map(_noted, self.rounds))


def _noted(round_: Round) -> str:
    accepted = [token.proposal for token in round_.tokens[: round_.accepted] if token.proposal]
    proposals = [*accepted, *(each.proposal for each in round_.rejected)]
    return "".join(each.source[0] for each in proposals) + str(round_.accepted)


def replayed(
    warped: WarpedAnswer, controller: Controller | None, costs: tuple[Seconds, Seconds],
    control: Control | None = None,
) -> Replayed:  # fmt: skip
    """Decode a recorded answer by the shipped rounds; the target has read the prompt."""
    answer, machine = warped.answer, Machine()
    verify, reading = costs
    tokens = list(answer.prompt)
    target = ReplayModel(verify, machine, warped.target)
    target.cached_tokens = tokens[:-1]
    draft = ReplayModel(reading, machine)
    tables = open_tables(BUNDLED / f"{catalog.DEFAULT.target.vocabulary}.ngrams")
    sources = SuffixSource(), TailSource(), NgramSource(answer.n_vocab, tables)
    drafter = Cascade(*sources, ReplaySource(draft, warped.draft))
    rounds = Rounds(
        target, tokens, drafter, answer.question.rule, as_it_is,
        control or Control("auto"), controller,
        limit=len(answer.prompt) + len(answer.tokens), clock=lambda: machine.now,
    )  # fmt: skip
    decoded, staked, lost, before = list[Round](), 0.0, 0.0, 0.0
    for step in rounds:
        if isinstance(step, PlannedRound):
            decoded.append(step.round)
            staked += (machine.now - before) / verify[1] - 1
            before = machine.now
            lost = max(lost, machine.now / verify[1] - (len(tokens) - len(answer.prompt)))
    answer_tokens = tokens[len(answer.prompt) :]
    return Replayed(
        answer, answer_tokens, decoded, machine.now, len(answer_tokens) * verify[1], staked, lost
    )
