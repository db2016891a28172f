"""What a verification rule is: how tokens are drawn, how proposals are judged, and what is left."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from assistant.decoding.row import Probs, Row
from assistant.decoding.sources.draft import Draft

BLOCK = 512
LONG = 8 * BLOCK  # from here on it is cheaper to find the block first, then the place in it


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """How many proposals are accepted, and the row that the token after them is drawn from.

    A proposal was tested if a target row was read at its place. Those that were have a uniform
    number each, None where the rule had no need of one.
    """

    accepted: int
    row: Row  # not normalised
    target_rows: tuple[Row, ...]  # those that were read: one more than accepted, at least
    uniforms: tuple[float | None, ...]
    thresholds: tuple[float | None, ...] = ()  # of the uniforms, if not target / draft


class Rule(Protocol):
    """All randomness of an answer. Positions count the context's tokens before the one drawn."""

    def draw(self, row: Row, position: int) -> int:
        """Draw a token from a row, not necessarily normalised."""

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept a beginning of `draft`, whose first token is at `position`.

        `target_rows` are one more than the proposals; they need not all be read.
        """


class Uniforms(Protocol):
    """A stream of uniform numbers in [0, 1), as `numpy.random.Generator` is."""

    def random(self) -> float:
        """Return the next one."""


class DrawingRule:
    """Draw by a stream of uniform numbers, as the rules do that accept by it, too."""

    def __init__(self, rng: Uniforms) -> None:
        self._rng = rng

    def draw(self, row: Row, position: int) -> int:
        """Draw a token with the stream's next number."""
        return draw(row, self._rng)


def draw(row: Row, rng: Uniforms) -> int:
    """Draw one token by inverting the cumulative distribution.

    The mass of `row` need not be 1: it is drawn from as if normalised.
    """
    return int(row.ids[_place(row.probs, rng.random())])


def _place(probs: Probs, uniform: float) -> int:
    """Return where the cumulative distribution passes `uniform` of its total."""
    if len(probs) < LONG:
        cumulative = np.cumsum(probs)
        return _passes(cumulative, uniform * cumulative[-1])
    cumulative = np.cumsum(np.add.reduceat(probs, np.arange(0, len(probs), BLOCK)))
    point = uniform * cumulative[-1]
    block = _passes(cumulative, point)
    before = cumulative[block - 1] if block else 0.0
    start = block * BLOCK
    return start + _passes(np.cumsum(probs[start : start + BLOCK]), point - before)


def _passes(cumulative: Probs, point: float) -> int:
    # A rounded point may be at the end itself.
    return min(int(np.searchsorted(cumulative, point, side="right")), len(cumulative) - 1)


def missing_rows(draft: Draft) -> ValueError:
    """Return what to raise when the target's rows are too few for a draft."""
    count = len(draft.proposals)
    return ValueError(f"{count} proposals need {count + 1} rows on both sides")


def excess(target: Row, draft: Row) -> Row:
    """Return (target - draft)+, not normalised: empty if the draft has as much of everything."""
    if not len(draft.ids):
        return target
    difference = target.probs - draft.probs_of(target.ids)
    left = difference > 0
    return Row(target.ids[left], difference[left])


def residual(target: Row, draft: Row) -> Row:
    """Return the excess, from which the replacement of a rejected token is drawn.

    Equal rows leave nothing, and then nothing can have been rejected but by rounding: the answer is
    the target's row.
    """
    left = excess(target, draft)
    return left if len(left.ids) else target
