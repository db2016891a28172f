"""Plans of a draft, proposal by proposal: a chosen number, or what makes the round fastest."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from math import inf
from operator import itemgetter
from typing import NamedTuple

from assistant.decoding.lookahead.acceptance import Acceptance
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.forecast import Reason
from assistant.decoding.sources.draft import Offer, Rows, Run

DEEPEST = 16  # rows of a source that are weighed ahead
SHORT = 8  # tokens that the draft model reads within a round, for a row
Clock = Callable[[], float]
"""Returns seconds. The clock of a lane of a race stops while other lanes compute."""


class FixedPlan:
    """Propose `budget` tokens from the first source that offers any; their time is not owed.

    `reason` says who chose the number, or why it is 0. The class attributes are those that a
    `ThroughputPlan` computes, so that both plans have one interface.
    """

    runs: tuple[Run, ...] = ()
    reads: tuple[int, ...] = ()
    is_owed = False
    expected_s = 0.0
    speedup = None

    def __init__(self, budget: int, reason: Reason = Reason.CHOSEN) -> None:
        self.budget, self.reason = budget, reason

    def next(self, offers: Sequence[Offer]) -> Offer | None:
        """Take the first offer, cut to the budget."""
        match offers:
            case [Run() as run, *_]:
                run = run.first(self.budget)
                self.budget -= len(run.tokens)
                return run
            case [Rows() as rows, *_]:
                self.budget -= 1
                return rows
        return None

    def include(self, rows: Rows, bucket: int) -> bool:
        """Draw from every row."""
        return True


class Prospect(NamedTuple):
    """What is expected of a round with some proposals; at first, with none."""

    proposed: int = 0
    survival: float = 1.0  # the probability that all proposals are accepted
    tokens: float = 1.0
    rows_s: float = 0.0  # seconds of the rows that proposals are drawn from
    repeated_s: float = 0.0
    """Seconds of the next round for tokens that have to be evaluated again."""


class ThroughputPlan:
    """A plan that takes an offer when it makes the round faster, in expected tokens per second.

    An offer is weighed at each of its lengths. Batches cost more in steps, as kernels work in
    blocks of rows: so a step that one token does not pay for is taken if several do. A draft model
    that has more than `SHORT` tokens to read is not asked for rows.
    """

    def __init__(
        self,
        costs: Costs,
        acceptance: Acceptance,
        budget: int,  # how many proposals there may be
        *,
        min_proposals: int = 0,  # how many there are even if nothing pays
        limit_s: float = inf,  # how long the round may take, if no proposal is accepted
        clock: Clock = lambda: 0.0,  # shows before and after each row what the draft really takes
        is_spent: bool = False,  # no time may be lost: propose only what cannot be rejected
        recomputed: int = 0,  # tokens of the batch that were evaluated before; they widen it
        repeats: bool = False,  # after a rejection, the tokens that stay are evaluated once more
    ) -> None:
        self.budget, self.min_proposals, self.is_spent = budget, min_proposals, is_spent
        self.runs: tuple[Run, ...] = ()
        """The runs on offer at the beginning of the round."""
        self.reads: list[int] = []
        """How many tokens the draft model was to read for each of its rows."""
        self.prospect = Prospect()
        self.limit_s = limit_s
        self._verify_s = [costs.verify(recomputed + width) for width in range(1, budget + 2)]
        self._clock, self._started = clock, clock()
        self._recomputed, self._repeats = recomputed, repeats
        self._costs, self._acceptance = costs, acceptance

    def next(self, offers: Sequence[Offer]) -> Offer | None:
        """Take the offer that makes the round fastest, if any makes it faster."""
        if not self.prospect.proposed:
            self.runs = tuple(offer for offer in offers if isinstance(offer, Run))
        if self.is_spent:
            runs = [offer for offer in offers if isinstance(offer, Run) and offer.certain]
            offers = [run.first(run.certain) for run in runs]
        quick = [offer for offer in offers if isinstance(offer, Run) or offer.pending <= SHORT]
        weighed = [(*self._weigh(offer), offer) for offer in quick]
        no_offer = 0.0, self.prospect, None
        pace, prospect, best = max(weighed, key=itemgetter(0), default=no_offer)
        if pace <= self._pace and not self._is_required:
            return None
        match best:
            case Run():
                run = best.first(prospect.proposed - self.prospect.proposed)
                self._take(prospect)
                return run
            case Rows():
                self.reads.append(best.pending)
                rows_s = self.prospect.rows_s + self._costs.draft(best.pending)
                self.prospect = self.prospect._replace(rows_s=rows_s)
        return best

    def include(self, rows: Rows, bucket: int) -> bool:
        """Draw from a row if its bucket promises more than one more token in the batch costs."""
        chance = self._acceptance.estimate(rows.source, bucket)
        included = self._is_required or self._weigh_rows(rows, chance)[0] > self._pace
        if included:
            self._take(self._with_proposal(self.prospect, chance))
        return included

    @property
    def is_owed(self) -> bool:
        """Whether its time is to be earned back: not if the user wants proposals."""
        return not self.min_proposals

    @property
    def reason(self) -> Reason:
        """The reason of its proposals."""
        if self.min_proposals:
            return Reason.SPS
        if self.prospect.proposed:
            return Reason.LIKELY
        return Reason.SPENT if self.is_spent else Reason.UNLIKELY

    @property
    def expected_s(self) -> float:
        """The expected seconds of the round."""
        return self._seconds(self.prospect)

    @property
    def speedup(self) -> float | None:
        """The expected speed-up of the round over ArS, by the cost curve; None for a plain one."""
        return self._pace * self._costs.verify(1) if self.prospect.proposed else None

    @property
    def _pace(self) -> float:
        """Expected tokens per second of the round as it is."""
        return self.prospect.tokens / (self.expected_s + self.prospect.repeated_s)

    @property
    def _is_required(self) -> bool:
        return self.prospect.proposed < self.min_proposals

    def _weigh(self, offer: Offer) -> tuple[float, Prospect]:
        """Return the best pace of the round with an offer, and the prospect of that."""
        if isinstance(offer, Run):
            return self._weigh_proposals(self._acceptance.estimates(offer))
        chance = self._acceptance.optimistic(offer.source)
        first_s, safety = self._costs.draft(offer.pending), self._costs.draft.safety(offer.pending)
        return self._weigh_rows(offer, chance, first_s, safety)

    def _weigh_rows(
        self, rows: Rows, chance: float, first_s: float = 0.0, safety: float = 1.0
    ) -> tuple[float, Prospect]:
        """Return the best pace with a row, computed or not, and with those that may follow it."""
        later = [self._acceptance.optimistic(rows.source)] * min(self.budget - 1, DEEPEST)
        seconds = chain([first_s], repeat(self._costs.draft(1)))
        return self._weigh_proposals([chance, *later], seconds, self._risk_s(first_s, safety))

    def _weigh_proposals(
        self, chances: Sequence[float], rows_s: Iterable[float] = repeat(0.0), risk_s: float = 0.0
    ) -> tuple[float, Prospect]:
        """Return the best pace with the first of some proposals, and its prospect; 0: with none."""
        prospect = self.prospect
        best = 0.0, prospect
        for chance, row_s in zip(chances, rows_s, strict=False):
            prospect = self._with_proposal(prospect, chance, row_s)
            safety = self._costs.verify.safety(self._recomputed + prospect.proposed + 1)
            wider_s = self._verify_s[prospect.proposed] - self._verify_s[0]
            seconds = self._seconds(prospect)
            worst_s = seconds + risk_s + (safety - 1) * wider_s + self._repeat_s(0)
            if worst_s <= self.limit_s or prospect.survival == 1:
                best = max(best, (prospect.tokens / (seconds + prospect.repeated_s), prospect))
        return best

    def _with_proposal(self, before: Prospect, chance: float, row_s: float = 0.0) -> Prospect:
        survival = before.survival * chance
        rejected = before.survival - survival
        repeated_s = before.repeated_s + rejected * self._repeat_s(before.proposed)
        tokens, rows_s = before.tokens + survival, before.rows_s + row_s
        return Prospect(before.proposed + 1, survival, tokens, rows_s, repeated_s)

    def _seconds(self, prospect: Prospect) -> float:
        return self._verify_s[prospect.proposed] + prospect.rows_s

    def _take(self, prospect: Prospect) -> None:
        self.budget -= prospect.proposed - self.prospect.proposed
        self.prospect = prospect

    def _risk_s(self, next_s: float, safety: float) -> float:
        """Return the seconds by which the rows so far and the next one may exceed the expected.

        The next one may take as many times as long as expected as the rows so far did.
        """
        rows_s = self.prospect.rows_s
        took_s = max(rows_s, self._clock() - self._started) if rows_s else 0.0
        slowdown = max(safety, took_s / rows_s if rows_s else 1.0)
        return took_s - rows_s + (slowdown - 1) * next_s

    def _repeat_s(self, accepted: int) -> float:
        """Return how much longer the next round takes if a rejection follows `accepted` tokens."""
        if not self._repeats:
            return 0.0
        width = self._recomputed + accepted + 2
        return max(0.0, self._costs.verify(width) - self._costs.verify(1))


RoundPlan = FixedPlan | ThroughputPlan
