"""Choose the lookahead that promises the most tokens per second, 0 included."""

from assistant.decoding import Round
from assistant.lookahead.costs import Costs
from assistant.lookahead.theory import expected_tokens

PRIOR = 0.85  # acceptance rate before anything was tested
LEARN = 0.05  # weight of one more test, and of one more measurement
PROBE_EVERY = 48  # rounds of ArS between two looks whether speculation has begun to pay
LOSS_ALLOWED = 0.02  # of the decoding time so far


class AdaptiveLookahead:
    """Weigh expected tokens against measured time before each round.

    It decides from rounds that are over, never from what is about to be proposed, so the output
    keeps the target's distribution. Time lost against ArS is kept as a debt; while that is above a
    fiftieth of all decoding time, speculation pauses, whatever the estimates promise.
    """

    def __init__(self, costs: Costs) -> None:
        self._seconds = {width - 1: costs.round(width - 1) for width in costs.verify}
        self.acceptance_rate = PRIOR
        self._elapsed = 0.0
        self._debt = 0.0
        self._rounds_of_ars = 0

    def choose(self, at_least: int = 0) -> int:
        """Return the lookahead for the next round."""
        candidates = [k for k in self._seconds if k >= at_least]
        best = max(candidates, key=self.speed)
        if at_least or self._debt > LOSS_ALLOWED * self._elapsed:
            return at_least and best
        if best == 0 and self._rounds_of_ars >= PROBE_EVERY:
            return max((k for k in candidates if k), key=self.speed, default=0)
        return best

    def pays(self, prefill_s: float, tokens: int) -> bool:
        """Say whether `tokens` tokens would earn back `prefill_s` that the draft needs to begin."""
        best = max(self._seconds, key=self.speed)
        return tokens * (1 / self.speed(0) - 1 / self.speed(best)) >= prefill_s

    def speed(self, k: int) -> float:
        """Return the expected tokens per second at lookahead `k`."""
        return expected_tokens(self.acceptance_rate, k) / self._seconds[k]

    def observe(self, round_: Round, seconds: float) -> None:
        """Learn from a round that took `seconds`."""
        k = len(round_.proposed)
        self._elapsed += seconds
        self._rounds_of_ars = 0 if k else self._rounds_of_ars + 1
        if k in self._seconds:
            self._seconds[k] += LEARN * (min(seconds, 3 * self._seconds[k]) - self._seconds[k])
        for i in range(round_.tested):
            self.acceptance_rate += LEARN * ((i < round_.accepted) - self.acceptance_rate)
        if k:
            self.charge(seconds - len(round_.tokens) * self._seconds[0])

    def charge(self, seconds: float) -> None:
        """Add time that speculation cost (or saved, below 0) against ArS."""
        self._debt = max(0.0, self._debt + seconds)
