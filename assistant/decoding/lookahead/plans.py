"""Plans of a draft, proposal by proposal: a chosen number, or what makes the round fastest."""

from collections.abc import Callable, Sequence
from math import inf
from operator import itemgetter

from assistant.decoding.lookahead.acceptance import Acceptance
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.forecast import Reason
from assistant.decoding.sources.draft import Offer, Rows, Run
from assistant.decoding.sources.model import MODEL

DEEPEST = 16  # rows of a source that are weighed ahead


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


class ThroughputPlan:
    """A plan that takes an offer when it makes the round faster, in expected tokens per second.

    An offer is weighed at each of its lengths. Batches cost more in steps, as kernels work in
    blocks of rows: so a step that one token does not pay for is taken if several do.

    Args:
        budget: how many proposals there may be.
        min_proposals: how many proposals there are even if nothing pays.
        patience: sources with more tokens to read than this are not asked for rows.
        limit_s: how long the round may take, if nothing that is proposed is accepted.
        clock: seconds; it shows before each row and after it what the draft really takes.
        pause: the reason to propose nothing, and only note what is on offer; None to propose. When
            time is `SPENT`, what cannot be rejected is proposed anyway: nothing can be lost.
        recomputed: how many tokens of the batch had been evaluated before: they move each proposal
            up the cost curve.
        repeats: whether a rejection has the tokens of the batch that stay evaluated once more, in
            the next batch.
    """

    def __init__(
        self,
        costs: Costs,
        acceptance: Acceptance,
        budget: int,
        *,
        min_proposals: int = 0,
        patience: int = 0,
        limit_s: float = inf,
        clock: Callable[[], float] = lambda: 0.0,
        pause: Reason | None = None,
        recomputed: int = 0,
        repeats: bool = False,
    ) -> None:
        self.budget, self.min_proposals, self.pause = budget, min_proposals, pause
        self.runs: tuple[Run, ...] = ()
        """The runs on offer at the beginning of the round."""
        self.reads: list[int] = []
        """How many tokens the draft model was to read for each of its rows."""
        self.proposed = 0
        """How many proposals there are so far."""
        self._verify_s = [costs.verify(recomputed + width) for width in range(1, budget + 2)]
        self.expected_tokens, self.expected_s = 1.0, self._verify_s[0]
        self.limit_s = limit_s
        self._clock, self._started = clock, clock()
        self._recomputed, self._repeats = recomputed, repeats
        self._costs, self._acceptance = costs, acceptance
        self._patience = patience
        self._survival = 1.0  # the probability that all proposals so far are accepted
        self.repeated_s = 0.0
        """Expected seconds of the next round for tokens that have to be evaluated again."""

    def next(self, offers: Sequence[Offer]) -> Offer | None:
        """Take the offer that makes the round fastest, if any makes it faster."""
        if not self.proposed:
            self.runs = tuple(offer for offer in offers if isinstance(offer, Run))
        if self.pause is Reason.SPENT:
            runs = [offer for offer in offers if isinstance(offer, Run) and offer.certain]
            offers = [run.first(run.certain) for run in runs]
        near = [
            offer for offer in offers if isinstance(offer, Run) or offer.pending <= self._patience
        ]
        weighed = [(*self._weigh(offer), offer) for offer in near]
        pace, count, best = max(weighed, key=itemgetter(0), default=(0.0, 0, None))
        pauses = self.pause not in (None, Reason.SPENT)
        if pauses or (pace <= self._pace and not self._is_required):
            return None
        match best:
            case Run():
                self._add(self._acceptance.estimates(best)[:count])
                return best.first(count)
            case Rows():
                self._add_row(best)
        return best

    def include(self, rows: Rows, bucket: int) -> bool:
        """Draw from a row if its bucket promises more than one more token in the batch costs."""
        chance = self._acceptance.estimate(rows.source, bucket)
        included = self._is_required or self._weigh_rows(rows, chance)[0] > self._pace
        if included:
            self._add([chance])
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
        if self.pause and not self.proposed:
            return self.pause
        return Reason.LIKELY if self.proposed else Reason.UNLIKELY

    @property
    def speedup(self) -> float | None:
        """The expected speed-up of the round over ArS, by the cost curve; None for a plain one."""
        return self._pace * self._costs.verify(1) if self.proposed else None

    @property
    def _pace(self) -> float:
        """Expected tokens per second of the round as it is."""
        return self.expected_tokens / (self.expected_s + self.repeated_s)

    @property
    def _is_required(self) -> bool:
        return self.proposed < self.min_proposals

    def _weigh(self, offer: Offer) -> tuple[float, int]:
        """Return the best pace of the round with an offer, and how many of its tokens are used."""
        if isinstance(offer, Run):
            return self._weigh_proposals(self._acceptance.estimates(offer))
        chance = self._acceptance.optimistic(offer.source)
        first_s = self._costs.row(offer.source, offer.pending)
        return self._weigh_rows(offer, chance, first_s, self._costs.draft_safety(offer.pending))

    def _weigh_rows(
        self, rows: Rows, chance: float, first_s: float = 0.0, safety: float = 1.0
    ) -> tuple[float, int]:
        """Return the best pace with a row, computed or not, and with those that may follow it."""
        later = [self._acceptance.optimistic(rows.source)] * min(self.budget - 1, DEEPEST)
        step_s, risk_s = self._costs.row(rows.source), self._risk_s(first_s, safety)
        return self._weigh_proposals([chance, *later], first_s, step_s, risk_s)

    def _weigh_proposals(
        self,
        chances: Sequence[float],
        first_s: float = 0.0,
        step_s: float = 0.0,
        risk_s: float = 0.0,
    ) -> tuple[float, int]:
        """Return the best pace with the first of some proposals, and their number; 0.0, 0: none."""
        done = self.proposed
        survival, tokens, best = self._survival, self.expected_tokens, (0.0, 0)
        spent, repeated_s = self.expected_s - self._verify_s[done] + first_s, self.repeated_s
        for i, chance in enumerate(chances, start=1):
            repeated_s += survival * (1 - chance) * self._repeat_s(done + i - 1)
            survival *= chance
            tokens += survival
            seconds = spent + self._verify_s[done + i] + step_s * (i - 1)
            safety = self._costs.batch_safety(self._recomputed + done + i + 1)
            wider_s = self._verify_s[done + i] - self._verify_s[0]
            worst_s = seconds + risk_s + (safety - 1) * wider_s + self._repeat_s(0)
            if worst_s <= self.limit_s or survival == 1:
                best = max(best, (tokens / (seconds + repeated_s), i))
        return best

    def _risk_s(self, next_s: float, safety: float) -> float:
        """Return the seconds by which the rows so far and the next one may exceed the expected.

        The next one may take as many times as long as expected as the rows so far did.
        """
        rows_s = self.expected_s - self._verify_s[self.proposed]
        took_s = max(rows_s, self._clock() - self._started) if rows_s else 0.0
        times = max(safety, took_s / rows_s if rows_s else 1.0)
        return took_s - rows_s + (times - 1) * next_s

    def _repeat_s(self, accepted: int) -> float:
        """Return how much longer the next round takes if a rejection follows `accepted` tokens."""
        if not self._repeats:
            return 0.0
        width = self._recomputed + accepted + 2
        return max(0.0, self._costs.verify(width) - self._costs.verify(1))

    def _add_row(self, rows: Rows) -> None:
        if rows.source == MODEL:
            self.reads.append(rows.pending)
        self.expected_s += self._costs.row(rows.source, rows.pending)

    def _add(self, chances: Sequence[float]) -> None:
        for i, chance in enumerate(chances, start=self.proposed):
            self.repeated_s += self._survival * (1 - chance) * self._repeat_s(i)
            self._survival *= chance
            self.expected_tokens += self._survival
        before = self._verify_s[self.proposed]
        self.proposed += len(chances)
        self.budget -= len(chances)
        self.expected_s += self._verify_s[self.proposed] - before


RoundPlan = FixedPlan | ThroughputPlan
