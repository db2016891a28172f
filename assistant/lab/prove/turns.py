"""An answer as it is shipped: by `Turn`, with its controller and every source."""

from collections.abc import Iterator, Sequence

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.policy import Control
from assistant.decoding.lookahead.throughput_plan import ThroughputPlan
from assistant.decoding.loops import Round
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.sources.draft import Plan
from assistant.engine.answer import Answer
from assistant.engine.stopwatch import Stopwatch
from assistant.engine.turn import Turn
from assistant.lab.prove.events import Check
from assistant.lab.prove.pair import ProvedPair
from assistant.lab.prove.side_by_side import replayed_with, untouched
from assistant.lab.prove.texts import DecodedText, RecordingModel, begun
from assistant.request import SOURCES, Mode, Request

MODES: tuple[Mode, ...] = ("auto", "sps")
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
        self, round_: Round, plan: Plan, seconds: float, draft_s: float, tables_s: float = 0.0
    ) -> None:
        """Take the round to have taken as long as is believed."""
        reads = plan.reads if isinstance(plan, ThroughputPlan) else []
        draft_s = sum(map(self._believed.draft, reads))
        verify_s = self._believed.verify(round_.proposed + 1)
        super().observe(round_, plan, verify_s + draft_s, draft_s)

    def observe_batch(self, rounds: Sequence[tuple[Round, Plan]], seconds: float) -> None:
        """Take an evaluation of several answers to have taken as long as is believed."""
        width = len(rounds) + sum(round_.proposed for round_, _ in rounds)
        super().observe_batch(rounds, self._believed.verify(width))


def request_of(pair: ProvedPair, mode: Mode, length: int, answers: int = 1) -> Request:
    """Return a request for answers of some length, to which every source may propose."""
    sampling, seed = pair.warm, pair.seed
    return Request(
        (), sampling, mode, max_tokens=length, seed=seed, sources=SOURCES, answers=answers
    )


def answer_to(pair: ProvedPair, request: Request, text: DecodedText) -> Answer:
    """Return the answer that a request begins after a text."""
    return Answer(request, pair.vocab, Stopwatch(pair.target), text.end, 0)


def go_on(pair: ProvedPair, text: DecodedText, mode: Mode, length: int) -> None:
    """Go on with a text by the shipped turn, up to where its answer ends."""
    request, target = request_of(pair, mode, length), RecordingModel(pair.target)
    answer = answer_to(pair, request, text)
    turn = Turn(
        target,
        pair.sources,
        Hopeful(),
        request,
        Control(mode),
        text.tokens,
        answer,
    )
    for step in turn.rounds():
        if isinstance(step, Round):
            text.add(step, target.rows)
            answer.add(step)
        if answer.stop is not None:
            return


def turns(pair: ProvedPair, alone: DecodedText, length: int, noise: float) -> Iterator[Check]:
    """Have the shipped turn say, in each mode, the beginning of what ArS said."""
    prompt = alone.tokens[: alone.begin]
    for mode in MODES:
        text = begun(pair, prompt)
        go_on(pair, text, mode, length)
        replay = replayed_with(pair, text, pair.warm, CoupledRule(pair.seed))
        yield untouched("turn", f"mode {mode}", alone, text, replay, noise)
