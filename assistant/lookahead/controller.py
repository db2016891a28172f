"""The lookahead that adapts: it learns what pays on this machine, with these models, in this text.

It decides from rounds that are over, and from what is known of a proposal before it is drawn. So it
may be wrong, and then it costs time; but whatever it does, the output keeps the target's law.
"""

from collections.abc import Sequence
from math import inf

from assistant.decoding import Round
from assistant.drafting.draft import Plan
from assistant.events import Forecast, Reason
from assistant.lookahead.acceptance import Acceptance
from assistant.lookahead.breakeven import cheapest
from assistant.lookahead.budget import Budget
from assistant.lookahead.costs import Costs
from assistant.lookahead.pace import Pace
from assistant.lookahead.weighing import ALONE, Beside, Weighing

CHECK_EVERY = 64  # rounds of speculation between two looks how fast ArS is
CHECK_SOON = 4  # and when it seems to have changed
CHANGED = 1.25  # times as fast or slow
CONFIDENCE = 0.5  # weight of such a look
SHORT = 8  # tokens that the draft reads in no time worth weighing
TYPICAL_ANSWER = 200  # tokens


class Controller:
    """Make plans that promise the most tokens per second, and learn from what came of them."""

    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._acceptance = Acceptance()
        self._budget = Budget()
        self._pace, self._promised = Pace(), Pace()
        self._without_ars = 0
        self._answer_s = 0.0
        self._ars_token_s = costs.verify(1)

    def begin(self) -> None:
        """Begin an answer: what others gained pays for no loss in it, and its text is its own."""
        self._budget = Budget()
        self._pace, self._promised = Pace(), Pace()
        self._answer_s = 0.0
        self._acceptance.begin()

    def plan(self, room: int, least: int = 0, beside: Beside = ALONE) -> Weighing:
        """Return the plan of the next round, with `least` proposals even if nothing pays."""
        left_s = self._budget.left(self._ars_token_s)
        return Weighing(
            self._costs,
            self._acceptance,
            room,
            least=least,
            patience=SHORT,
            stake_s=inf if least else left_s,
            is_pause=(self._checks_ars or not left_s) and not least,
            beside=beside,
        )

    def is_worth_reading(self, unread: int, more: int) -> bool:
        """Say whether the draft would earn back the time it takes to read `unread` tokens.

        `more` is how many tokens the answer may still have, at most. The answer has to have gone on
        without for half as long as that takes: by then it shows what copies are worth in it, and
        how sure the target is. What the draft will be worth is not known before it has read; so
        what it saves is averaged over what it may be worth, and is nothing where it does not pay.
        """
        read_s = self._costs.draft(unread)
        if self._answer_s < read_s / 2 or not self._budget.left(self._ars_token_s):
            return False
        pace = max(self._pace.tokens_per_s, 1 / self._ars_token_s)
        saved_s = sum(
            weight * max(0.0, 1 / pace - 1 / self._model_speed(acceptance))
            for weight, acceptance in self._acceptance.possible("model")
        )
        return min(more, TYPICAL_ANSWER) * saved_s > read_s

    def observe(self, round_: Round, plan: Plan, seconds: float, draft_s: float) -> None:
        """Learn from a round that took `seconds`, `draft_s` of it in the draft model."""
        self._answer_s += seconds
        self._costs.saw_verify(round_.proposed + 1, seconds - draft_s)
        self._compare(round_.proposed, seconds - draft_s)
        if not isinstance(plan, Weighing):
            self._acceptance.learn(round_, ())
            return
        self._acceptance.learn(round_, plan.runs)
        if plan.reads:
            expected = [self._costs.draft(unread) for unread in plan.reads]
            for unread, usual in zip(plan.reads, expected, strict=True):
                self._costs.saw_draft(unread, usual * draft_s / sum(expected))
        if not plan.least:  # else it was the person's wish, and is not owed
            if round_.proposed or plan.reads:
                self._budget.spend(seconds, len(round_.tokens), self._ars_token_s)
            else:
                self._budget.rest(seconds)
            self._pace.add(len(round_.tokens), seconds)
            self._promised.add(plan.expected_tokens, plan.expected_s)

    def observe_batch(self, rounds: Sequence[tuple[Round, Plan]], seconds: float) -> None:
        """Learn from rounds of several answers, which one evaluation has served.

        What ArS had taken for them is that it decodes as many answers at once, without proposals.
        """
        count, proposed = len(rounds), sum(round_.proposed for round_, _ in rounds)
        self._costs.saw_verify(count + proposed, seconds)
        alone = self._costs.verify(1) / self._costs.verify(count)
        self._compare(proposed, seconds * alone)
        for round_, plan in rounds:
            self._acceptance.learn(round_, plan.runs if isinstance(plan, Weighing) else ())
        if all(isinstance(plan, Weighing) and not plan.least for _, plan in rounds):
            tokens = sum(len(round_.tokens) for round_, _ in rounds) / count
            if proposed:
                self._budget.spend(seconds * alone, tokens, self._ars_token_s)
            else:
                self._budget.rest(seconds * alone)

    def read(self, tokens: int, seconds: float) -> None:
        """Learn from the draft's reading of `tokens` tokens, which is to be earned back later."""
        self._costs.saw_draft(tokens, seconds)
        self._budget.rest(seconds)

    def forecast(self, reason: Reason, plan: Plan) -> Forecast:
        """Return what is expected of speculation, beside the reason for what a plan has done.

        A plan promises by the cost curve, so it is held against ArS by the cost curve too.
        """
        token_s, step_s = self._costs.verify(1), self._costs.draft(1)
        speedup = right = None
        if isinstance(plan, Weighing) and plan.taken:
            speedup = plan.expected_tokens / plan.expected_s * token_s
        if step_s < inf:
            right = sum(weight * each for weight, each in self._acceptance.possible("model"))
        cost = cheapest(self._costs.verify, step_s if step_s < inf else 0.0)
        return Forecast(reason, speedup, self._ars_token_s, cost, right)

    @property
    def _checks_ars(self) -> bool:
        """Whether it is time to see how fast ArS is now."""
        ratio = self._costs.verify(1) / self._ars_token_s
        seems_changed = not 1 / CHANGED < ratio < CHANGED
        return self._without_ars >= (CHECK_SOON if seems_changed else CHECK_EVERY)

    def _compare(self, proposed: int, seconds: float) -> None:
        """Learn how fast ArS is, from its own rounds alone: it is what all else is held against."""
        self._without_ars = self._without_ars + 1 if proposed else 0
        if not proposed:
            usual = self._ars_token_s
            seconds = min(max(seconds, usual / 3), usual * 3)  # else it was the machine's doing
            self._ars_token_s += CONFIDENCE * (seconds - usual)

    def _model_speed(self, acceptance: float) -> float:
        """Return the tokens per second that the draft model promises at its best lookahead."""
        tokens, best = 1.0, 1 / self._ars_token_s
        for k in range(1, 16):
            tokens += acceptance**k
            best = max(best, tokens / (k * self._costs.draft(1) + self._costs.verify(k + 1)))
        return best
