"""Answers as they are shipped: with the controller and every source, several at once, restored."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.policy import Control, Policy
from assistant.decoding.lookahead.throughput_plan import ThroughputPlan
from assistant.decoding.loops import Round
from assistant.decoding.row import Row
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Plan
from assistant.decoding.warp import Warp, one_hot, warped
from assistant.engine.answer import AnswerBuilder
from assistant.engine.decoding_sequence import DecodingSequence, own_sources, rule_of, warp_of
from assistant.engine.resume import Resuming
from assistant.engine.rounds import Rounds, SequenceRound
from assistant.engine.stopwatch import Stopwatch
from assistant.lab.protocol import Check
from assistant.lab.prove.pair import (
    TASKS,
    DecodedText,
    ProvedPair,
    RecordingModel,
    begun,
    emptied,
    replayed,
)
from assistant.lab.prove.side_by_side import by_ars, redrawn, replayed_with, untouched
from assistant.request import SOURCES, Mode, Request, RuleName
from models.base import Logits, Model, MultiSequenceModel

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
        fillers: int = 0,
        again: int = 0,
    ) -> None:
        """Take the evaluation to have taken as long as is believed."""
        reads = [n for _, plan in rounds if isinstance(plan, ThroughputPlan) for n in plan.reads]
        draft_s = sum(map(self._believed.draft, reads))
        width = len(rounds) + sum(round_.proposed for round_, _ in rounds) + fillers + again
        verify_s = self._believed.evaluation(width)
        super().observe(rounds, verify_s + draft_s, draft_s, fillers=fillers, again=again)


def request_of(pair: ProvedPair, mode: Mode, length: int, answers: int = 1) -> Request:
    """Return a request for answers of some length, to which every source may propose."""
    sampling, seed = pair.warm, pair.seed
    return Request(
        (), sampling, mode, max_tokens=length, seed=seed, sources=SOURCES, answers=answers
    )


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
    pair: ProvedPair,
    texts: Sequence[DecodedText],
    request: Request,
    target: RecordingModel,
    warp: Warp | None = None,
) -> None:
    """Continue with texts by the shipped rounds, up to where their answers end.

    `target` holds them all, and `warp` stands in for the request's own; see `drawn_by_seed`.
    """
    control = Control(request.mode)
    answers = [
        AnswerBuilder(request, pair.vocab, Stopwatch(pair.target), each.end, 0) for each in texts
    ]
    several = len(texts) > 1
    sequences = [
        DecodingSequence(
            i,
            text.tokens,
            answers[i],
            Cascade(*(own_sources(pair.sources) if several else pair.sources)),
            rule_of(request, i),
        )
        for i, text in enumerate(texts)
    ]
    policy = Policy(control, Hopeful())
    for step in Rounds(target, sequences, policy, warp or warp_of(request, control)):
        if isinstance(step, SequenceRound):
            number = step.sequence.number
            texts[number].add(step.round, target.rows[number])
            answers[number].add(step.round)


def turns(pair: ProvedPair, alone: DecodedText, length: int, noise: float) -> Iterator[Check]:
    """Have the shipped rounds say, by each mode and rule, the beginning of what ArS said."""
    prompt = alone.tokens[: alone.begin]
    for name, mode, unseeded in WAYS:
        text, request, warp = begun(pair, prompt), request_of(pair, mode, length), None
        if unseeded:
            request, warp = replace(request, seed=None, rule=unseeded), drawn_by_seed(pair)
        go_on(pair, [text], request, RecordingModel(pair.target), warp)
        replay = replayed_with(pair, text, pair.warm, CoupledRule(pair.seed))
        yield untouched("turn", name, alone, text, replay, noise)


ROOM = 1 << 32
"""Bytes that the snapshot may take; it is gone when the comparison is over."""


class Slow:
    """A model that reads so slowly that all it has read is worth a snapshot."""

    seconds_a_token = inf

    def __init__(self, model: Model) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def restored(pair: ProvedPair, length: int, noise: float) -> Iterator[Check]:
    """Have a snapshot be all there is of an answer before its second half is said."""
    name = "an answer that was half finished before"
    prompt = pair.prompt(" ".join(TASKS))  # long enough to be worth a snapshot
    alone = by_ars(pair, prompt, length, pair.seed)
    text = by_ars(pair, prompt, length // 2, pair.seed)
    if not _put_aside_and_brought_back(pair, text):
        yield Check("restored", name, None, note="there was no room for a snapshot")
        return
    request = request_of(pair, "sps", length - length // 2)
    go_on(pair, [text], request, RecordingModel(pair.target))
    replay = replayed_with(pair, text, pair.warm, CoupledRule(pair.seed))
    yield untouched("restored", name, alone, text, replay, noise)


def _put_aside_and_brought_back(pair: ProvedPair, text: DecodedText) -> bool:
    """Have the cache hold what a snapshot held; say whether there was one."""
    target = Slow(pair.target)
    with TemporaryDirectory() as folder:
        for read_before in (True, False):
            if not read_before:
                emptied(pair.target).logits([*reversed(text.tokens)], rows=0)
            resuming = Resuming(cast(Any, target), "proof", Path(folder) / "snapshots", ROOM)
            resuming.begin(text.tokens, stored=True)
            if read_before:
                resuming.keep()
            resuming.close()
    return pair.target.cached(text.tokens) == text.end - 1


ANSWERS = 2


def several(pair: ProvedPair, alone: DecodedText, length: int, noise: float) -> Iterator[Check]:
    """Have several answers be said together, each of which ArS says with its own seed."""
    if pair.several is None or pair.several.most_texts < ANSWERS:
        yield Check("several", "several answers", None, note="this model holds one text at a time")
        return
    prompt = alone.tokens[: alone.begin]
    texts, batches = _together(pair, pair.several, prompt, length)
    rows = replayed(pair, texts, batches)
    pair.several.settle(())
    for i, text in enumerate(texts):
        seed = pair.seed + i
        said = by_ars(pair, prompt, length, seed) if i else alone
        replay = redrawn(text, rows[i], pair.warm, CoupledRule(seed))
        name = f"answer {i + 1} of {ANSWERS}"
        yield untouched("several", name, said, text, replay, noise)


def _together(
    pair: ProvedPair, model: MultiSequenceModel, prompt: list[int], length: int
) -> tuple[list[DecodedText], list[tuple[int, ...]]]:
    """Return the texts, and which of them were in each batch."""
    model.settle(())
    texts, target = [begun(pair, prompt) for _ in range(ANSWERS)], RecordingModel(model)
    go_on(pair, texts, request_of(pair, "sps", length, ANSWERS), target)
    model.settle(())
    return texts, target.batches
