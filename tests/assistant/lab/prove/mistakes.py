"""Decoding with deliberate mistakes, which samples must find, and the correct rules."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.rule import Rule, TokenRule, Verdict, residual
from assistant.decoding.sources.draft import Cascade, Draft, Source
from assistant.decoding.sources.model import ModelSource, VocabularyMapping
from assistant.decoding.warp import warp_with
from assistant.lab.protocol import Check
from assistant.lab.prove.proof import Sampler, check_samples
from assistant.request import Sampling

TARGET = ((5, 4, 1), (1, 0, 9), (3, 3, 4))
"""What follows each of the tokens 0, 1 and 2, in tenths."""
DRAFT = ((2, 5, 3), (6, 2, 2), (0, 1, 9))
WARP = warp_with(Sampling(1, 0, 1))
SIZE = 1000
"""Answers of a sample; the mistake that is hardest to find has a p-value of 1e-14 with them."""


class AcceptsAll(TokenRule):
    """Never reject."""

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept every proposal."""
        targets, kept = tuple(target_rows), len(draft.proposals)
        return Verdict(kept, residual(targets[kept], draft.last), targets, (None,) * kept)


class ReplacesFromTheTarget(TokenRule):
    """Know no residual: after a rejection, draw from the target's own row."""

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept as the token rule does."""
        verdict = super().verify(draft, target_rows, position)
        return replace(verdict, row=verdict.target_rows[-1])


class DropsByToken(Cascade):
    """Drop the last proposal if its token is odd, which is known once it was drawn."""

    def propose(self, *given: Any) -> Draft:
        """Propose all that is left."""
        draft = super().propose(*given)
        is_odd = any(token % 2 for token in draft.tokens[-1:])
        return Draft(draft.proposals[:-1]) if is_odd else draft


CASES: Sequence[tuple[str, Callable[[Any], Rule], type[Cascade], bool]] = (
    ("the token rule", TokenRule, Cascade, True),
    ("the block rule", BlockRule, Cascade, True),
    ("every proposal is accepted", AcceptsAll, Cascade, False),
    ("after a rejection, the target's own row", ReplacesFromTheTarget, Cascade, False),
    ("a proposal is dropped by its token, token rule", TokenRule, DropsByToken, False),
    ("a proposal is dropped by its token, block rule", BlockRule, DropsByToken, False),
)
"""What is tried, and whether it is right."""


def sampler(cascade: type[Cascade] = Cascade, sources: Sequence[Source] | None = None) -> Sampler:
    """Return what samples the small example."""
    draft = ModelSource(table(DRAFT), VocabularyMapping.identity(len(TARGET), len(DRAFT)))
    made = Sampler(table(TARGET), [draft] if sources is None else sources, [0], WARP)
    made._drafter = cascade(*made._drafter.sources.values())
    return made


def checks() -> Iterator[tuple[Check, bool]]:
    """Yield what samples of each case say, and whether it is right."""
    for what, rule, cascade, is_right in CASES:
        chance = rule(np.random.default_rng(0))
        yield check_samples(what, sampler(cascade), chance, SIZE, len(CASES)), is_right


def table(tenths: Sequence[Sequence[int]]) -> Any:
    with np.errstate(divide="ignore"):
        logits = np.log(np.array(tenths, np.float32) / 10)
    traits = {"n_ctx": 64, "n_vocab": len(tenths), "max_rows": 32, "rollback": None, "busy_s": 0.0}
    model: Any = SimpleNamespace(**traits, cached=lambda tokens: len(tokens) - 1)
    model.logits = lambda tokens, rows=1: logits[list(tokens[len(tokens) - rows :])]
    return model
