"""Verification rules, and the token rule: modified rejection sampling.

The token rule tests each proposal by itself. Chen et al. 2023, "Accelerating Large Language Model
Decoding with Speculative Sampling", algorithm 2; Leviathan et al. 2023, "Fast Inference from
Transformers via Speculative Decoding", algorithm 1. The papers swap p and q, so here they are the
target's t and the draft's d.

A draft's row may have a mass below 1; what is missing is the probability that the draft ends there.
A token x comes out with probability

    min(t(x), d(x))  +  (1 - sum of min(t, d)) * (t(x) - d(x))+ / sum of (t - d)+   =   t(x)

The first term is an accepted proposal, d(x) min(1, t(x) / d(x)). The factor after it is the
probability that none is accepted: of a rejection, or of a draft that ended. So this one rule covers
drafts of any length, the one-hot rows of a table, and the extra token after full acceptance (where
the draft's row is empty, and the residual is the target's own row). It holds if the decision to
propose at a position did not depend on the token proposed there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from assistant.decoding.row import Probs, Row
from assistant.decoding.sources.draft import Draft

BLOCK = 512  # probabilities that are summed at once in a long row
LONG = 8 * BLOCK  # from this length on it is cheaper to find the block first


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """How many proposals are accepted, and the row that the token after them is drawn from.

    A proposal was tested if a target row was read at its position. Each tested one has a uniform
    number, None where the rule needed none.
    """

    accepted: int
    row: Row  # not normalised
    target_rows: tuple[Row, ...]  # those that were read: at least one more than accepted
    uniforms: tuple[float | None, ...]
    thresholds: tuple[float, ...] = ()  # that they were compared with, if not target / draft


class Rule(Protocol):
    """All randomness of an answer. A position is the number of tokens before the drawn one."""

    def draw(self, row: Row, position: int) -> int:
        """Draw a token from a row, not necessarily normalised."""

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept a prefix of `draft`, whose first token is at `position`.

        `target_rows` are one more than the proposals; they need not all be read.
        """


class Uniforms(Protocol):
    """A stream of uniform numbers in [0, 1), as `numpy.random.Generator` is."""

    def random(self) -> float:
        """Return the next number."""


class DrawingRule:
    """A rule that draws by a stream of uniform numbers."""

    def __init__(self, rng: Uniforms) -> None:
        self._rng = rng

    def draw(self, row: Row, position: int) -> int:
        """Draw a token with the stream's next number."""
        return draw(row, self._rng)


def draw(row: Row, rng: Uniforms) -> int:
    """Draw one token by inverting the cumulative distribution.

    The mass of `row` need not be 1; the draw is from the normalised row.
    """
    return int(row.ids[_inverse(row.probs, rng.random())])


def _inverse(probs: Probs, uniform: float) -> int:
    """Return the index at which the cumulative distribution passes `uniform` of its total."""
    if len(probs) < LONG:
        cumulative = np.cumsum(probs)
        return _first_above(cumulative, uniform * cumulative[-1])
    cumulative = np.cumsum(np.add.reduceat(probs, np.arange(0, len(probs), BLOCK)))
    point = uniform * cumulative[-1]
    block = _first_above(cumulative, point)
    before = cumulative[block - 1] if block else 0.0
    start = block * BLOCK
    return start + _first_above(np.cumsum(probs[start : start + BLOCK]), point - before)


def _first_above(cumulative: Probs, point: float) -> int:
    # A rounded point may be at the end itself.
    return min(int(np.searchsorted(cumulative, point, side="right")), len(cumulative) - 1)


def missing_rows(draft: Draft) -> ValueError:
    """Return what to raise when the target's rows are too few for a draft."""
    count = len(draft.proposals)
    return ValueError(f"{count} proposals need {count + 1} rows on both sides")


def excess(target: Row, draft: Row) -> Row:
    """Return (target - draft)+, not normalised: empty if no token is likelier in the target."""
    if not len(draft.ids):
        return target
    difference = target.probs - draft.probs_of(target.ids)
    likelier = difference > 0
    return Row(target.ids[likelier], difference[likelier])


def residual(target: Row, draft: Row) -> Row:
    """Return the excess, from which the replacement of a rejected token is drawn.

    It is empty if the rows are equal. Then only rounding can have rejected a token, and the result
    is the target's row.
    """
    left = excess(target, draft)
    return left if len(left.ids) else target


class TokenRule(DrawingRule):
    """Test each proposal by itself, with a uniform number of its own."""

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept a prefix of `draft`; one uniform is used for each token tested.

        `target_rows` are read only up to the first rejection.
        """
        read: list[Row] = []
        drawn: list[float] = []
        for accepted, (row, target) in enumerate(zip(draft.rows, target_rows, strict=False)):
            read.append(target)
            if accepted < len(draft.proposals):
                drawn.append(self._rng.random())
                if accepts(target, row, draft.proposals[accepted].token, drawn[-1]):
                    continue
            return Verdict(accepted, residual(target, row), tuple(read), tuple(drawn))
        raise missing_rows(draft)


def accepts(target: Row, draft: Row, token: int, uniform: float) -> bool:
    """Accept with probability min(1, target / draft).

    Without a division, a proposal of probability 0 is no special case. The comparison is strict,
    so that a token the target forbids is rejected even when the uniform is 0.
    """
    return bool(uniform * draft.prob(token) < target.prob(token))
