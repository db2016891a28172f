"""The shipped loop and rules on a small example: every outcome and its exact probability."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np

from assistant.decoding.lookahead.policy import Fixed
from assistant.decoding.loops import speculative
from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.residual import residual
from assistant.decoding.rules.rule import Rule, Verdict
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Draft
from assistant.decoding.sources.model import ModelSource
from assistant.lab.protocol import Check
from assistant.lab.prove.law import distance, law
from models.mapping import Mapping as TokenMapping


class AcceptsAll(TokenRule):
    """Never reject."""

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept every proposal."""
        targets, kept = tuple(target_rows), len(draft.proposals)
        return Verdict(kept, residual(targets[kept], draft.last), targets, (None,) * kept)


class ReplacesFromTheTarget(TokenRule):
    """Know no residual."""

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept as the token rule does, and draw the next token from the target's own row."""
        verdict = super().verify(draft, target_rows, position)
        return replace(verdict, row=verdict.target_rows[-1])


class ForgetsTheShare(BlockRule):
    """Take the token rule's residual, whatever share the kept beginning has."""

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept as the block rule does, and draw the next token from the wrong residual."""
        verdict = super().verify(draft, target_rows, position)
        kept = verdict.accepted
        return replace(verdict, row=residual(verdict.target_rows[kept], draft.rows[kept]))


Law = Mapping[tuple[int, ...], Fraction]
"""The probability of each text."""
TARGET = ((5, 4, 1), (1, 0, 9), (3, 3, 4))
"""What follows each of the tokens 0, 1 and 2, in tenths."""
DRAFT = ((2, 5, 3), (6, 2, 2), (0, 1, 9))
START, LENGTH = 0, 3
"""The token before a text, and a text's length."""
RULES: Sequence[tuple[str, Callable[[Any], Rule], int]] = (
    ("token rule, lookahead 1", TokenRule, 1),
    ("token rule, lookahead 2", TokenRule, 2),
    ("block rule, lookahead 1", BlockRule, 1),
    ("block rule, lookahead 2", BlockRule, 2),
)
MISTAKES: Sequence[tuple[str, Callable[[Any], Rule], int]] = (
    ("every proposal is accepted", AcceptsAll, 1),
    ("a rejected proposal is redrawn from the target's own row", ReplacesFromTheTarget, 1),
    ("the block rule forgets the share in its residual", ForgetsTheShare, 2),
)


def count() -> int:
    """Return how many checks there are."""
    return len(RULES) + len(MISTAKES)


def checks() -> Iterator[Check]:
    """Yield how far each rule is from the target's law, which is 0, and each mistake."""
    for what, rule, lookahead in RULES:
        found = law_of(rule, lookahead)
        off = distance(found, target_law())
        figures = {"laws": 1, "outcomes": len(found), "variation": float(off)}
        yield Check("enumeration", what, off == 0, figures)
    for what, rule, lookahead in MISTAKES:
        off = distance(law_of(rule, lookahead), target_law())
        yield Check("mistakes", what, off > 0, {"variation": float(off)})


def target_law() -> Law:
    """Return the law of the target's texts by definition: products of its probabilities."""
    texts = product(range(len(TARGET)), repeat=LENGTH)
    tenths = {text: [TARGET[a][b] for a, b in pairwise((START, *text))] for text in texts}
    return {text: Fraction(prod(row), 10**LENGTH) for text, row in tenths.items()}


def law_of(rule: Callable[[Any], Rule], lookahead: int) -> Law:
    """Return the law of the texts that are decoded with a rule."""
    return law(lambda uniforms: decoded(rule(uniforms), lookahead))


def decoded(rule: Rule, lookahead: int) -> tuple[int, ...]:
    """Return a text of the shipped loop, over as many rounds as it takes."""
    target: Any = TableModel(TARGET)
    draft: Any = TableModel(DRAFT)
    drafter = Cascade(ModelSource(draft, TokenMapping.by_number(len(TARGET), len(DRAFT))))
    tokens = [START]
    rounds = speculative(target, drafter, tokens, lambda: Fixed(lookahead), unwarped, rule)
    while len(tokens) <= LENGTH:
        next(rounds)
    return tuple(tokens[1 : LENGTH + 1])


class TableModel:
    """A model whose logits are probabilities, which depend on the last token alone."""

    n_ctx = 64

    def __init__(self, tenths: Sequence[Sequence[int]]) -> None:
        self._rows = [[Fraction(each, 10) for each in row] for row in tenths]

    def logits(self, tokens: Sequence[int], rows: int = 1) -> Any:
        """Return what follows each of the last `rows` tokens."""
        return np.array([self._rows[token] for token in tokens[-rows:]])

    def cached(self, tokens: Sequence[int]) -> int:
        """Return 0: it keeps nothing."""
        return 0


def unwarped(logits: Any, _history: Sequence[int]) -> Row:
    """Return probabilities as they are, without the zeros."""
    ids = np.flatnonzero(logits)
    return Row(ids, logits[ids])
