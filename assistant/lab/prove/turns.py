"""An answer as it is shipped: by `Rounds`, with its controller and every source."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.policy import Control, Policy
from assistant.decoding.lookahead.throughput_plan import ThroughputPlan
from assistant.decoding.loops import Round
from assistant.decoding.row import Row
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Plan
from assistant.decoding.warp import Warp, one_hot
from assistant.engine.answer import Answer
from assistant.engine.decoding_sequence import DecodingSequence, rule_of, warp_of
from assistant.engine.rounds import Rounds, SequenceRound
from assistant.engine.stopwatch import Stopwatch
from assistant.lab.prove.events import Check
from assistant.lab.prove.pair import ProvedPair, warped
from assistant.lab.prove.side_by_side import replayed_with, untouched
from assistant.lab.prove.texts import DecodedText, RecordingModel, begun
from assistant.request import SOURCES, Mode, Request, RuleName
from models.base import Logits

WAYS: tuple[tuple[str, Mode, RuleName | None], ...] = (
    ("mode auto", "auto", None),
    ("mode sps", "sps", None),
    ("the token rule", "sps", "token"),
    ("the block rule", "sps", "block"),
)
VERIFY = {1: 1.0, 8: 1.1, 32: 1.4}
DRAFT = {1: 0.04, 512: 2.0}
"""Costs, in evaluations of one token, at which speculation would pay on every machine."""


class Hopeful(Controller):
    """A controller that believes this machine is one where speculation pays, and goes on to.

    So mode auto proposes on any machine, however busy. What it learns of the text is the truth.
    """

    def __init__(self) -> None:
        self._believed = Costs(VERIFY, DRAFT)
        super().__init__(Costs(VERIFY, DRAFT))

    def read(self, tokens: int, seconds: float) -> None:
        """Take the reading to have taken as long as is believed."""
        super().read(tokens, self._believed.draft(tokens))

    def observe(
        self,
        rounds: Sequence[tuple[Round, Plan]],
        seconds: float,
        draft_s: float = 0.0,
        tables_s: float = 0.0,
    ) -> None:
        """Take the evaluation to have taken as long as is believed."""
        reads = [n for _, plan in rounds if isinstance(plan, ThroughputPlan) for n in plan.reads]
        draft_s = sum(map(self._believed.draft, reads))
        width = len(rounds) + sum(round_.proposed for round_, _ in rounds)
        super().observe(rounds, self._believed.verify(width) + draft_s, draft_s)


def request_of(pair: ProvedPair, mode: Mode, length: int, answers: int = 1) -> Request:
    """Return a request for answers of some length, to which every source may propose."""
    sampling, seed = pair.warm, pair.seed
    return Request(
        (), sampling, mode, max_tokens=length, seed=seed, sources=SOURCES, answers=answers
    )


def answer_to(pair: ProvedPair, request: Request, text: DecodedText) -> Answer:
    """Return the answer that a request begins after a text."""
    return Answer(request, pair.vocab, Stopwatch(pair.target), text.end, 0)


def drawn_by_seed(pair: ProvedPair) -> Warp:
    """Return a warp whose rows have all their mass on the token that the seed draws from them.

    Then nothing is left to the chance of a rule that has no seed, and it has to say what ArS says.
    """
    seeded, usual = CoupledRule(pair.seed), warped(pair.warm)

    def drawn(logits: Logits, history: Sequence[int]) -> Row:
        row = usual(logits, history)
        return replace(one_hot(seeded.draw(row, len(history))), margin=row.margin)

    return drawn


def go_on(
    pair: ProvedPair, text: DecodedText, mode: Mode, length: int, unseeded: RuleName | None = None
) -> None:
    """Go on with a text by the shipped rounds, up to where its answer ends.

    An `unseeded` rule decodes rows that leave it no choice; see `drawn_by_seed`.
    """
    control, target = Control(mode), RecordingModel(pair.target)
    request = request_of(pair, mode, length)
    warp = warp_of(request, control)
    if unseeded:
        request, warp = replace(request, seed=None, rule=unseeded), drawn_by_seed(pair)
    answer = answer_to(pair, request, text)
    drafter = Cascade(*pair.sources)
    sequence = DecodingSequence(0, text.tokens, answer, drafter, rule_of(request))
    for step in Rounds(target, [sequence], Policy(control, Hopeful()), warp):
        if isinstance(step, SequenceRound):
            text.add(step.round, target.rows)
            answer.add(step.round)


def turns(pair: ProvedPair, alone: DecodedText, length: int, noise: float) -> Iterator[Check]:
    """Have the shipped rounds say, by each mode and rule, the beginning of what ArS said."""
    prompt = alone.tokens[: alone.begin]
    for name, mode, unseeded in WAYS:
        text = begun(pair, prompt)
        go_on(pair, text, mode, length, unseeded)
        replay = replayed_with(pair, text, pair.warm, CoupledRule(pair.seed))
        yield untouched("turn", name, alone, text, replay, noise)
