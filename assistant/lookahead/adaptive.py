"""Choose the lookahead that promises the most tokens per second, 0 included."""

from assistant.decoding import Round
from assistant.events import Forecast
from assistant.lookahead.choice import Choice
from assistant.lookahead.costs import Costs
from assistant.lookahead.theory import expected_tokens

PRIOR = 0.85  # acceptance rate before anything was tested
LEARN = 0.05  # weight of one more test, and of one more measurement
PROBE_EVERY = 48  # rounds of ArS between two looks whether speculation has begun to pay
LOSS_ALLOWED = 0.02  # of the decoding time so far
ALLOWANCE = 8  # evaluations of one token that may be lost, and saved up, on top


class AdaptiveLookahead:
    """Weigh expected tokens against measured time before each round.

    It decides from rounds that are over, never from what is about to be proposed, so the output
    keeps the target's distribution. Time lost against ArS is kept as a debt; while that exceeds a
    fiftieth of all decoding time and a small allowance, speculation pauses, whatever the estimates
    promise. So decoding takes at most 1.02 times as long as ArS is estimated to, and the allowance,
    and one round, or one reading of the prompt by the draft that was expected to pay.
    """

    def __init__(self, costs: Costs) -> None:
        self._seconds = {width - 1: costs.round(width - 1) for width in costs.verify}
        self.acceptance_rate = PRIOR
        self._elapsed = 0.0
        self._debt = 0.0
        self._rounds_of_ars = 0

    def choose(self, at_least: int = 0) -> Choice:
        """Return the lookahead for the next round."""
        candidates = [k for k in self._seconds if k >= at_least]
        best = max(candidates, key=self.speed, default=at_least)
        if at_least:
            return Choice(best, "the most promising above 0")
        if self._debt > LOSS_ALLOWED * self._elapsed + self._allowance:
            return Choice(0, "a pause, as guessing has lost time")
        if best == 0 and self._rounds_of_ars >= PROBE_EVERY and self.may_pay:
            return Choice(max(candidates[1:], key=self.speed), "a look whether guessing pays now")
        return Choice(best, "the most tokens per second" if best else "guessing does not pay here")

    def forecast(self, reason: str) -> Forecast:
        """Return what is expected of speculation now, beside the reason for what is done."""
        best = max((self.speed(k) for k in self._seconds if k), default=None)
        speedup = None if best is None else best / self.speed(0)
        return Forecast(reason, speedup, self._seconds[0])

    @property
    def may_pay(self) -> bool:
        """Whether speculation would be faster than ArS if every proposal were accepted."""
        return any((k + 1) * self._seconds[0] > self._seconds[k] for k in self._seconds if k)

    def pays(self, prefill_s: float, tokens: int) -> bool:
        """Say whether `tokens` tokens would earn back `prefill_s` that the draft needs to begin."""
        best = max(self._seconds, key=self.speed)
        return best > 0 and tokens * (1 / self.speed(0) - 1 / self.speed(best)) >= prefill_s

    def speed(self, k: int) -> float:
        """Return the expected tokens per second at lookahead `k`."""
        return expected_tokens(self.acceptance_rate, k) / self._seconds[k]

    def observe(self, round_: Round, seconds: float, chosen: bool = True) -> None:
        """Learn from a round that took `seconds`; only what was `chosen` here can be owed."""
        k = round_.proposed
        self._rounds_of_ars = 0 if k else self._rounds_of_ars + 1
        if chosen:
            self._elapsed += seconds
            self.charge(seconds - len(round_.tokens) * self._seconds[0] if k else 0.0)
        if k in self._seconds:
            self._correct(k, seconds)
        for i in range(round_.tested):
            self.acceptance_rate += LEARN * ((i < round_.accepted) - self.acceptance_rate)

    def charge(self, seconds: float) -> None:
        """Add time that speculation cost against ArS, or saved, below 0."""
        self._debt = max(self._debt + seconds, -self._allowance)

    @property
    def _allowance(self) -> float:
        return ALLOWANCE * self._seconds[0]

    def _correct(self, k: int, seconds: float) -> None:
        """Follow what rounds take as the context grows, the others with half the confidence."""
        # A single slow round is more often the machine's doing than the lookahead's.
        ratio = min(max(seconds / self._seconds[k], 1 / 3), 3.0)
        for other in self._seconds:
            self._seconds[other] *= ratio ** (LEARN if other == k else LEARN / 2)
