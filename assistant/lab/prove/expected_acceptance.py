"""How likely a proposal is kept, in closed form, and what became of it."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from assistant.decoding.loops import Rejected, Round, Sampled
from assistant.decoding.row import Row
from assistant.decoding.rules.block import carried
from assistant.decoding.sources.draft import Proposal


class AcceptanceTrial(NamedTuple):
    """A proposal that was up for acceptance."""

    place: int  # in the draft
    chance: float
    kept: bool


Trials = Callable[[Round], Iterator[AcceptanceTrial]]


def of_tokens(round_: Round) -> Iterator[AcceptanceTrial]:
    """Yield the trials of the token rule: each proposal behind those that were accepted."""
    yield from _one_by_one(round_, Row.overlap)


def of_twins(round_: Round) -> Iterator[AcceptanceTrial]:
    """Yield those of the coupled rule, where both rows draw with the same numbers."""
    yield from _one_by_one(round_, coincidence)


def of_blocks(round_: Round) -> Iterator[AcceptanceTrial]:
    """Yield those of the block rule: each proposal, whether those before it are kept or not.

    Behind a beginning of some share, another token is kept with it with probability
    sum of min(share target, draft); see `assistant.decoding.rules.block`.
    """
    share = 1.0
    for place, (target, proposal) in enumerate(_judged(round_)):
        scaled = Row(target.ids, target.probs * share)
        yield AcceptanceTrial(place, scaled.overlap(proposal.row), place < round_.accepted)
        share = carried(share, target, proposal)


def _one_by_one(round_: Round, chance: Callable[[Row, Row], float]) -> Iterator[AcceptanceTrial]:
    for place, (target, proposal) in enumerate(_judged(round_)):
        yield AcceptanceTrial(place, chance(target, proposal.row), place < round_.accepted)
        if place == round_.accepted:
            return


def _judged(round_: Round) -> Iterator[tuple[Row, Proposal]]:
    """Yield the proposals at whose place a row of the target was read."""
    judged: list[Sampled | Rejected] = [*round_.tokens[: round_.accepted], *round_.rejected]
    for each in judged:
        if each.target_row is None or each.proposal is None:
            return
        yield each.target_row, each.proposal


def coincidence(target: Row, draft: Row) -> float:
    """Return how likely the coupled rule draws the same token from two rows.

    Token j is drawn from both if all others stay behind it in both races, which it wins with
    probability 1 / (sum over i of max(target(i) / target(j), draft(i) / draft(j))). The target's
    term is the larger one for the tokens that it prefers, in comparison, more than j.
    """
    ids = np.union1d(target.ids, draft.ids)
    ours, theirs = target.probs_of(ids), draft.probs_of(ids)
    with np.errstate(divide="ignore"):
        preference = ours / theirs
    order = np.argsort(preference)
    ours, theirs = ours[order], theirs[order]
    above = ours.sum() - np.cumsum(ours)  # what the target gives to those it prefers more
    below = np.cumsum(theirs)
    both = (ours > 0) & (theirs > 0)
    return float((1 / (above[both] / ours[both] + below[both] / theirs[both])).sum())
