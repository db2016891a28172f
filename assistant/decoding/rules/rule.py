"""What a verification rule is: how tokens are drawn, how proposals are judged, and what is left."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from assistant.decoding.row import Row
from assistant.decoding.sources.draft import Draft


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
        ...

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept a beginning of `draft`, whose first token is at `position`.

        `target_rows` are one more than the proposals; they need not all be read.
        """
        ...


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
