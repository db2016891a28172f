"""Speculation with a mistake in it, which has to be found: whoever finds nothing is blind.

Each is a mistake that somebody could make, or has made: a port that forgets a part of the rule.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from assistant.decoding.draw import Uniforms, draw
from assistant.decoding.row import Row
from assistant.decoding.rules.residual import residual
from assistant.decoding.rules.rule import Rule, Verdict
from assistant.decoding.rules.token import accepts
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Draft, Drafter, Plan, Proposal, Rows
from assistant.decoding.warp import Warp
from assistant.lab.prove.enumeration import AcceptsAll, ForgetsTheShare, ReplacesFromTheTarget
from tests.exact.enumeration import FIXED, WHIMS, Case
from tests.exact.planners import FixedPlanner, WhimsicalPlanner
from tests.exact.random_plan import Parrot
from tests.exact.toy import Toy
from tests.exact.toy_sources import DiscardsUnlikely, FailsAfter, modelled, modelled_by


class InParts:
    """The token rule in parts, each of which may be replaced by a mistake; as it is, it is right.

    It reads all rows, and notes no uniforms.
    """

    def __init__(self, rng: Uniforms) -> None:
        self._rng = rng

    def draw(self, row: Row, position: int) -> int:
        """Draw a token with the stream's next number."""
        return draw(row, self._rng)

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept a beginning of `draft`, part by part."""
        targets = tuple(target_rows)
        for i, proposal in enumerate(draft.proposals):
            if not self.accepts(targets, i, proposal):
                row = self.replaced(targets[i], proposal.row)
                return Verdict(i, row, targets[: i + 1], (None,) * (i + 1))
        untested = (None,) * len(draft.proposals)
        return Verdict(len(untested), self.extra(targets, draft.last), targets, untested)

    def accepts(self, targets: Sequence[Row], i: int, proposal: Proposal) -> bool:
        """Say whether to keep the i-th proposal."""
        return accepts(targets[i], proposal.row, proposal.token, self._rng.random())

    def replaced(self, target: Row, draft: Row) -> Row:
        """Return what the token in place of a rejected one is drawn from."""
        return residual(target, draft)

    def extra(self, targets: Sequence[Row], last: Row) -> Row:
        """Return what the token behind the whole draft is drawn from."""
        return residual(targets[-1], last)


class AcceptsTheBest(InParts):
    """Reject all but the target's best token."""

    def accepts(self, targets: Sequence[Row], i: int, proposal: Proposal) -> bool:
        """Say whether to keep the i-th proposal."""
        return bool(proposal.token == targets[i].ids[np.argmax(targets[i].probs)])


class AcceptsTheTypical(InParts):
    """Keep also what the target is all but certain of."""

    def accepts(self, targets: Sequence[Row], i: int, proposal: Proposal) -> bool:
        """Say whether to keep the i-th proposal."""
        return targets[i].prob(proposal.token) > 0.9 or super().accepts(targets, i, proposal)


class ComparesTheNextRow(InParts):
    """Judge each proposal by the row behind its own."""

    def accepts(self, targets: Sequence[Row], i: int, proposal: Proposal) -> bool:
        """Say whether to keep the i-th proposal."""
        return super().accepts(targets, i + 1, proposal)


class ReplacesByTheDistance(InParts):
    """Take the residual's sizes, but not its signs."""

    def replaced(self, target: Row, draft: Row) -> Row:
        """Return what a rejected one is replaced from."""
        return Row(target.ids, abs(target.probs - draft.probs_of(target.ids)))


class DropsSmallDifferences(InParts):
    """Take differences of a thousandth and less for none."""

    def replaced(self, target: Row, draft: Row) -> Row:
        """Return what a rejected one is replaced from."""
        left = super().replaced(target, draft)
        kept = left.probs > 1 / 1000
        return Row(left.ids[kept], left.probs[kept])


class ExtraFromTheRowBefore(InParts):
    """Draw the token behind the draft from the row of the last proposal."""

    def extra(self, targets: Sequence[Row], last: Row) -> Row:
        """Return what the last token is drawn from."""
        return targets[-2] if len(targets) > 1 else targets[-1]


class ForgetsHowItEnded(InParts):
    """Take a draft that ended by chance for a whole one."""

    def extra(self, targets: Sequence[Row], last: Row) -> Row:
        """Return what the last token is drawn from."""
        return targets[-1]


class Hindsight(Cascade):
    """Ask the plan again when the token is drawn."""

    def propose(self, tokens: Sequence[int], plan: Plan, warp: Warp, draw: Any) -> Draft:
        """Propose what the plan still likes when it sees it."""
        draft = super().propose(tokens, plan, warp, draw)
        for i, proposal in enumerate(draft.proposals):
            if not plan.include(Rows(proposal.source), proposal.token):
                return Draft(draft.proposals[:i])
        return draft


class DropsTheRare(Cascade):
    """End the draft before a token that it drew against the odds."""

    def propose(self, tokens: Sequence[int], plan: Plan, warp: Warp, draw: Any) -> Draft:
        """Propose as far as nothing rare was drawn."""
        draft = super().propose(tokens, plan, warp, draw)
        rare = (i for i, each in enumerate(draft.proposals) if each.row.prob(each.token) < 0.05)
        return Draft(draft.proposals[: next(rare, None)])


class ForgetsWhatFailed(Cascade):
    """Throw a draft away if a source fails in the middle of it."""

    def propose(self, tokens: Sequence[int], plan: Plan, warp: Warp, draw: Any) -> Draft:
        """Propose all or nothing."""
        draft = super().propose(tokens, plan, warp, draw)
        return Draft() if self.failure else draft


def _hindsight() -> Drafter:
    return Hindsight(Parrot(2, 1), modelled_by(Toy(2, 91), 2))


def _unlikely() -> Drafter:
    return DiscardsUnlikely(Toy(3, 4, "zeros"))


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong, in words, and where it shows."""

    what: str
    rule: Callable[[Any], Rule]
    case: Case


def _rare() -> Drafter:
    return DropsTheRare(modelled_by(Toy(3, 1006, "sharp")))


def _failing() -> Drafter:
    return ForgetsWhatFailed(modelled_by(FailsAfter(3, 1002)))


def _case(n_vocab: int, k: int, length: int, drafter: Callable[[], Drafter] | None = None) -> Case:
    drafter = drafter or partial(modelled, Toy(n_vocab, 1002), n_vocab)
    planner = partial(FixedPlanner, k)
    return Case("model", FIXED, Toy(n_vocab, 1), drafter, planner, length)


_ONE, _TWO, _ENDS = _case(3, 1, 2), _case(3, 2, 2), _case(3, 1, 2, _unlikely)
_FAILS = _case(3, 2, 2, _failing)
_CERTAIN, _TINY = (
    replace(_ONE, target=Toy(3, seed, "sharp"), drafter=partial(modelled, draft))
    for seed, draft in ((5, Toy(3, 1006, "sharp")), (6, Toy(3, 1007, "sharp")))
)
_RARE = replace(_CERTAIN, drafter=_rare)
_PEEKS = replace(_case(2, 2, 3, _hindsight), stop=WHIMS, planner=partial(WhimsicalPlanner, 2, 1))
MISTAKES = (
    Mistake("every proposal is accepted", AcceptsAll, _ONE),
    Mistake("a proposal is accepted if the target likes it best", AcceptsTheBest, _ONE),
    Mistake("a proposal is accepted if the target is nearly certain", AcceptsTheTypical, _CERTAIN),
    Mistake("a proposal is compared with the row behind its own", ComparesTheNextRow, _ONE),
    Mistake("a rejected one is replaced from the target's own row", ReplacesFromTheTarget, _ONE),
    Mistake("the residual keeps the sizes, not the signs", ReplacesByTheDistance, _ONE),
    Mistake("the residual drops small differences", DropsSmallDifferences, _TINY),
    Mistake("the extra token is drawn from the row before", ExtraFromTheRowBefore, _ONE),
    Mistake("a draft that ended by chance counts as whole", ForgetsHowItEnded, _ENDS),
    Mistake("the block rule forgets the share in its residual", ForgetsTheShare, _TWO),
    Mistake("a rare token is drawn and not proposed", InParts, _RARE),
    Mistake("what was proposed before a draft failed is thrown away", InParts, _FAILS),
    Mistake("the plan sees the token before it proposes it", InParts, _PEEKS),
)
