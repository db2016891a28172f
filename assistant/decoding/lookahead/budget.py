"""How long ArS takes now, and how much time speculation may lose to it in one answer."""

from collections import deque
from math import inf
from statistics import median

ALLOWANCE = 3.0  # evaluations of one token that an answer may take longer, whatever its length
SHARE = 0.02  # and this part of its tokens: so what was refused at first is tried again later
CAUTIOUS_ALLOWANCE, CAUTIOUS_SHARE = 0.4, 0.05  # the most where little is expected of proposals
SUGGESTION_ALLOWANCE = 0.1
"""The allowance in an editor's suggestion, with the cautious share: it is often of five tokens.

In 31 gaps, replayed with the costs of five machines, none was below 0.95 times ArS; with 0.25 the
slowest was at 0.92, with what other answers may lose at 0.88. The mean went from 1.23 to 1.21.
"""
RECENT = 9  # rounds of ArS whose median is the estimate
CHANGED = 1.2  # times longer or shorter, twice in a row: the machine has changed


class Baseline:
    """Follows the seconds of a plain evaluation, which rounds without proposals show best."""

    def __init__(self, seconds: float) -> None:
        self._recent = deque([seconds], RECENT)

    @property
    def seconds(self) -> float:
        """The estimated seconds of a plain evaluation."""
        return median(self._recent)

    def observe(self, seconds: float, is_plain: bool) -> None:
        """Observe a round; one with proposals counts only if it was faster than a plain one."""
        usual, last = self.seconds, self._recent[-1]
        counts = is_plain or seconds < usual / CHANGED
        if not (counts and 0 < seconds < inf):
            return
        self._recent.append(seconds)
        if min(last, seconds) > usual * CHANGED or max(last, seconds) < usual / CHANGED:
            self._recent = deque([last, seconds], RECENT)


class Budget:
    """Keep account of what speculation lost, or saved, against ArS, in evaluations of one token.

    Everything that ArS would not have spent is booked: proposals, draft steps, and the draft's
    prefill. No round and no prefill may stake more than `left`. So an answer takes at most
    `ALLOWANCE` evaluations longer than ArS, and `SHARE` of its tokens, provided that evaluations
    take as long as estimated. A suggestion may lose less; see `SUGGESTION_ALLOWANCE`.
    """

    def __init__(self, of_suggestion: bool = False) -> None:
        self._of_suggestion = of_suggestion
        self._tokens = 0
        self._lost = 0.0  # evaluations; below 0: saved

    def add(self, tokens: int, lost: float = 0.0) -> None:
        """Book tokens, and by how many evaluations they took longer than by ArS."""
        self._tokens += tokens
        self._lost += lost

    def left(self, cautious: bool = False) -> float:
        """Return the evaluations that may still be lost: fewer in a short answer if `cautious`."""
        limit = ALLOWANCE + SHARE * self._tokens
        if cautious or self._of_suggestion:
            allowance = SUGGESTION_ALLOWANCE if self._of_suggestion else CAUTIOUS_ALLOWANCE
            limit = min(limit, allowance + CAUTIOUS_SHARE * self._tokens)
        return max(0.0, limit - self._lost)
