"""What a draft is made of, weighed proposal by proposal: expected tokens against measured time."""

from collections import Counter
from collections.abc import Sequence

from assistant.drafting.draft import Offer, Rows, Run
from assistant.lookahead.acceptance import Acceptance
from assistant.lookahead.costs import Costs

DEEPEST = 16  # steps that a source of rows is thought ahead
HOPE = 0.9  # acceptance taken for granted where one looks whether it has become good
TRIAL = 3  # proposals by which one sees what a place in the batch costs


class Weighing:
    """A plan that takes an offer when its tokens are worth more than the time they cost.

    A second is worth `pace` tokens, what decoding yields on the whole: maximising tokens minus
    seconds times that is the same as maximising tokens per second (Dinkelbach 1967). An offer is
    looked at over its whole length, so that a step of the staircase that costs more than one token
    is taken if the tokens behind it pay for it.

    Args:
        room: how many proposals there may be.
        pace: tokens per second that are to be beaten.
        least: how many proposals there shall be even if nothing pays.
        patience: sources with more tokens to read than this are not asked for rows.
        trusted: a source that is taken at its word, to see whether it has become good.
        is_trial: copy what is likely even if that seems not to pay: evaluations may cost less than
            was measured, and where nothing is proposed nobody would find out.
        is_pause: propose nothing, and only note what was on offer.
    """

    def __init__(
        self,
        costs: Costs,
        acceptance: Acceptance,
        pace: float,
        room: int,
        *,
        least: int = 0,
        patience: int = 0,
        trusted: str | None = None,
        is_trial: bool = False,
        is_pause: bool = False,
    ) -> None:
        self.room, self.least, self.is_pause = room, least, is_pause
        self.runs: tuple[Run, ...] = ()
        """What was on offer at the beginning."""
        self.reads: list[int] = []
        """How many tokens were to be read for each row that was asked for."""
        self.taken = Counter[str]()
        """How many proposals each source has made."""
        self._verify_s = [costs.verify(width) for width in range(1, room + 2)]
        self.expected_tokens, self.expected_s = 1.0, self._verify_s[0]
        self._costs, self._acceptance, self._pace = costs, acceptance, pace
        self._patience, self._trusted, self._is_trial = patience, trusted, is_trial
        self._survival = 1.0  # the probability that all proposals so far are accepted

    def next(self, offers: Sequence[Offer]) -> Offer | None:
        """Take the offer that is worth most, if it is worth anything."""
        if not self._proposed:
            self.runs = tuple(offer for offer in offers if isinstance(offer, Run))
        weighed = [(*self._weigh(offer), offer) for offer in offers if self._is_near(offer)]
        worth, count, best = max(weighed, key=lambda each: each[0], default=(0.0, 0, None))
        if self.is_pause:
            return None
        if worth <= 0 and not self._must:
            best, count = self._tried(), TRIAL
        match best:
            case Run():
                self._take(best.source, self._acceptance.along(best)[:count])
                return best.first(count)
            case Rows():
                self.reads.append(best.unread)
                self.expected_s += self._costs.draft(best.unread)
        return best

    def include(self, rows: Rows, evidence: int) -> bool:
        """Draw from a row if its evidence promises more than the place in the batch costs."""
        chance = self._chance(rows, evidence)
        included = self._must or self._ahead(rows, chance)[0] > 0
        if included:
            self._take(rows.source, [chance])
        return included

    def _tried(self) -> Run | None:
        """Return a run to try, if there is one that is likely to be accepted."""
        if not self._is_trial or self._proposed:
            return None
        likely = (run for run in self.runs if min(self._acceptance.along(run)[:TRIAL]) >= HOPE)
        return next(likely, None)

    @property
    def _proposed(self) -> int:
        return self.taken.total()

    @property
    def _must(self) -> bool:
        return self._proposed < self.least

    def _is_near(self, offer: Offer) -> bool:
        return isinstance(offer, Run) or offer.unread <= self._patience

    def _chance(self, rows: Rows, evidence: int | None = None) -> float:
        if rows.source == self._trusted:
            return HOPE
        if evidence is None:
            return self._acceptance.on_average(rows.source)
        return self._acceptance.of(rows.source, evidence)

    def _weigh(self, offer: Offer) -> tuple[float, int]:
        """Return what an offer is worth, in tokens, and how many of its tokens that takes."""
        if isinstance(offer, Run):
            return self._best(self._acceptance.along(offer))
        worth, count = self._ahead(offer, self._chance(offer))
        return worth - self._pace * self._costs.draft(offer.unread), count

    def _ahead(self, rows: Rows, chance: float) -> tuple[float, int]:
        """Return what a row in hand is worth together with those that may follow it."""
        later = [self._chance(rows)] * min(self.room - 1, DEEPEST)
        return self._best([chance, *later], self._costs.draft(1))

    def _best(self, chances: Sequence[float], step_s: float = 0.0) -> tuple[float, int]:
        """Return the largest worth of a beginning of proposals, and its length, at least 1."""
        done = self._proposed
        survival, gained, best = self._survival, 0.0, (float("-inf"), 0)
        for i, chance in enumerate(chances, start=1):
            survival *= chance
            gained += survival
            seconds = self._verify_s[done + i] - self._verify_s[done] + step_s * (i - 1)
            best = max(best, (gained - self._pace * seconds, i))
        return best

    def _take(self, source: str, chances: Sequence[float]) -> None:
        for chance in chances:
            self._survival *= chance
            self.expected_tokens += self._survival
        before = self._verify_s[self._proposed]
        self.taken[source] += len(chances)
        self.room -= len(chances)
        self.expected_s += self._verify_s[self._proposed] - before
