"""The adaptive lookahead: it learns what pays on this machine, with these models, in this text.

It decides from rounds that are over, and from what is known of a proposal before it is drawn. So it
may be wrong, and then it costs time; but whatever it does, the output keeps the target's law.
"""

from collections.abc import Sequence
from math import inf, log2

from assistant.decoding.lookahead.acceptance import Acceptance, RecentMean
from assistant.decoding.lookahead.budget import Baseline, Budget
from assistant.decoding.lookahead.costs import TRUST, Costs
from assistant.decoding.lookahead.forecast import Forecast, best_lookahead, cheapest_proposal
from assistant.decoding.lookahead.plans import SHORT, Clock, RoundPlan, ThroughputPlan
from assistant.decoding.loops import Round
from assistant.decoding.sources.model import MODEL, PrefillOption

SURPRISING = 1.2  # times less than expected
RECOMPUTED = 1.3
"""Plain evaluations that the tokens to recompute may take, before a plain round ends that.

In simulations of a target that cannot roll back, 1.2 and 1.5 are as good: copies that are right 9
times of 10 give 4.6 times ArS where batches are cheap, and 2.4 with a plain round now and then.
"""
TYPICAL_ANSWER = 200  # tokens
WIDEST_WEIGHED = 16  # tokens of an evaluation, where lookaheads are compared
SURE_OF_ITSELF = 0.85  # from here on most drafts are right: 0.83 to 0.87 did as well
LOG_ODDS_PER_HALVED_CONTEXT = 0.35  # of acceptance, that it costs a draft; measured


class Controller:
    """Make plans that promise the most tokens per second, and learn from their results."""

    def __init__(self, costs: Costs, acceptance: Acceptance | None = None) -> None:
        self.costs = costs
        self.steps_s = 0.0
        """Seconds of the draft's steps, without its prefills between rounds."""
        self._acceptance = acceptance or Acceptance()
        self._baseline = Baseline(costs.verify(1))
        self._budget, self._pace = Budget(), RecentMean()
        self._repeats, self._clock = False, (lambda: 0.0)
        self._context = 0  # tokens that the draft had when its acceptance was estimated last
        self._answered, self._is_prefilling = 0, False  # tokens of this answer

    def begin(
        self, is_suggestion: bool = False, repeats: bool = False, clock: Clock = lambda: 0.0
    ) -> None:
        """Begin an answer: gains of others pay for no loss in it, and its text is separate.

        Less may be lost in an editor's suggestion. `repeats`, `clock`: as in `ThroughputPlan`.
        """
        self._acceptance.begin()
        self._budget, self._pace = Budget(is_suggestion), RecentMean()
        self._repeats, self._clock = repeats, clock
        self._context, self._answered, self._is_prefilling = 0, 0, False

    def plan(self, budget: int, min_proposals: int = 0, recomputed: int = 0) -> ThroughputPlan:
        """Return the plan of the next round, with `min_proposals` proposals even if nothing pays.

        `recomputed` is as in `ThroughputPlan`.
        """
        left, token_s = self._left, self.costs.verify(1)
        if self._repeats and self.costs.verify(recomputed + 1) > RECOMPUTED * token_s:
            budget = min(budget, min_proposals)
        return ThroughputPlan(
            self.costs,
            self._acceptance,
            budget,
            min_proposals=min_proposals,
            limit_s=inf if min_proposals else (1 + left) * token_s,
            clock=self._clock,
            is_spent=not (left or min_proposals),
            recomputed=recomputed,
            repeats=self._repeats,
        )

    def next_prefill(self, options: Sequence[PrefillOption], left: int) -> PrefillOption | None:
        """Return the prefill of the draft to run now; None for none.

        The first of the `options` continues the draft's window. The best option saves most, less
        its own time, in the tokens that are `left` to the answer at most. It is returned if the
        answer may still lose that time. So a draft first reads a little, and what it saves with
        that pays for more. It reads in chunks, and each of them is timed.
        """
        best = max(options, key=lambda option: self._saved_s(option, options, left))
        continues = self._is_prefilling and best is options[0]
        chunk = self._chunk(best.pending, self._left * self._token_s)
        enough = 1 if continues else SHORT
        if best.pending <= enough or not chunk or self._saved_s(best, options, left) <= 0:
            return None
        self._is_prefilling = chunk < best.pending
        self._context = best.context
        return best._replace(chunk=chunk)

    def observe_prefill(self, tokens: int, seconds: float) -> None:
        """Learn from a prefill of the draft: its time is owed until it is earned back."""
        self._spend(seconds, self.costs.draft(tokens), 0)
        self.costs.draft.observe(tokens, seconds)

    def observe(
        self,
        round_: Round,
        plan: RoundPlan,
        seconds: float,
        draft_s: float = 0.0,
        recomputed: int = 0,
    ) -> None:
        """Learn from a round, its plan and its `seconds`, `draft_s` of them in the draft model.

        `recomputed` tokens were evaluated again, which ArS would not have needed.
        """
        tokens, reads = len(round_.tokens), plan.reads
        self._answered += tokens
        self.steps_s += draft_s
        self._observe_evaluation(round_.proposed, seconds - draft_s, recomputed)
        self._acceptance.observe(round_, plan.runs)
        expected = [self.costs.draft(pending) for pending in reads]
        for pending, usual in zip(reads, expected, strict=True):
            self.costs.draft.observe(pending, usual * draft_s / sum(expected))
        if not plan.is_owed:
            return
        if round_.proposed or reads or recomputed:
            self._spend(seconds, plan.expected_s, tokens)
        else:
            self._budget.add(tokens)
        if not reads:
            self._pace.add(tokens, seconds)

    def forecast(self, plan: RoundPlan, recomputed: int = 0) -> Forecast:
        """Return the expected gain of speculation, and the reason of a plan's proposals.

        The speed-up is relative to ArS by the cost curve, as in the plan. `recomputed` tokens were
        evaluated again.
        """
        has_draft = self.costs.draft(1) < inf
        cost = cheapest_proposal(self._verify_s, self.costs.draft(1) if has_draft else 0.0)
        right = self._acceptance.expected(MODEL) if has_draft else None
        share = max(0.0, 1 - self.costs.verify(1) / self.costs.verify(1 + recomputed))
        return Forecast(plan.reason, plan.speedup, self._baseline.seconds, cost, right, share)

    @property
    def _verify_s(self) -> dict[int, float]:
        return {width: self.costs.verify(width) for width in range(1, WIDEST_WEIGHED + 1)}

    @property
    def _left(self) -> float:
        """The evaluations that may be staked now: few, until the target is sure of its own tokens.

        So a translation of ten tokens is not slowed down by a draft that reads for it. Of 77
        answers with recorded costs the slowest went from 0.80 to 0.92 times ArS, at the same mean.
        """
        return self._budget.left(cautious=self._acceptance.confidence < SURE_OF_ITSELF)

    @property
    def _token_s(self) -> float:
        """The seconds that ArS takes for a token now: the lesser of two estimates.

        By the curve alone, one of 2,000 simulated answers lost 12 evaluations of 70 tokens.
        """
        return min(self._baseline.seconds, self.costs.verify(1))

    def _spend(self, seconds: float, expected_s: float, tokens: int) -> None:
        """Book time that ArS would not have spent, and the tokens that it yielded.

        If the time is far below the expected one, the machine has become faster, and ArS with it:
        that is no gain. The baseline may show this before the curve of wider batches does.
        """
        expected_s *= self._token_s / self.costs.verify(1)
        is_surprise = seconds * SURPRISING < expected_s
        owed_s = expected_s if is_surprise else seconds
        self._budget.add(tokens, owed_s / self._token_s - tokens)

    def _observe_evaluation(self, proposed: int, seconds: float, recomputed: int) -> None:
        width = 1 + proposed + recomputed
        share = 1.0 if proposed else self.costs.verify(1) / self.costs.verify(width)
        self._baseline.observe(seconds * share, is_plain=not proposed)  # without what is recomputed
        self.costs.verify.observe(width, seconds)

    def _chunk(self, pending: int, left_s: float) -> int:
        """Return how many tokens can be paid for even if they take much longer than expected."""
        while pending and self.costs.draft(pending) * self.costs.draft.safety(pending) > left_s:
            pending //= 2
        return pending

    def _prefill_s(self, pending: int) -> float:
        """Return the seconds of a prefill in chunks that can be paid for; else infinity.

        A prefill is of no use unless all its chunks can be paid for, and a first proposal after
        them. The first chunk shows what others of its size take.
        """
        draft, verify = self.costs.draft, self.costs.verify
        proposal_s = draft(2) + verify.safety(2) * (verify(2) - verify(1))
        left_s = self._left * self._token_s - proposal_s
        chunk, prefill_s = self._chunk(pending, left_s), 0.0
        # A safety factor holds for all numbers of tokens with as many bits.
        safety, largest = self.costs.draft.safety(chunk), 2 ** chunk.bit_length() - 1
        while pending and chunk:
            if prefill_s + safety * draft(chunk) > left_s:
                return inf
            prefill_s, pending, safety = prefill_s + draft(chunk), pending - chunk, safety**TRUST
            chunk = min(pending, largest)
        return inf if pending else prefill_s

    def _saved_s(self, option: PrefillOption, options: Sequence[PrefillOption], left: int) -> float:
        """Return the seconds that the draft saves after a prefill, over the rest of the answer.

        A loss counts as zero, before the prefill's own time: a draft that does not pay is not used.
        """
        prefill_s, step_s = self._prefill_s(option.pending), self.costs.draft(1)
        longest = options[-1].context
        token_s = self.costs.verify(1)
        if prefill_s == inf or self._answered < option.context < longest:
            return -inf
        doublings = log2(option.context / (self._context or longest))
        chance = self._acceptance.expected(MODEL, LOG_ODDS_PER_HALVED_CONTEXT * doublings)
        pace = max(self._pace.value, 1 / token_s)
        _, speedup = best_lookahead(chance, self._verify_s, step_s)
        saved_s = max(0.0, 1 / pace - token_s / speedup)
        return min(left, TYPICAL_ANSWER) * saved_s - prefill_s
