"""How long ArS takes now, and how much time speculation may lose to it in one answer."""

from collections import deque
from math import isfinite, log
from statistics import median

ALLOWANCE = 3.0  # evaluations of one token that an answer may take longer, whatever its length
SHARE = 0.02  # and this part of those that ArS needs: what was refused first is tried again later
CAUTIOUS_ALLOWANCE, CAUTIOUS_SHARE = 0.4, 0.05  # no more where little is expected of proposals
RECENT = 9  # rounds of ArS whose median is believed
CHANGED = log(1.2)  # from here on it is no noise, if two in a row say so
SURPRISES = 3  # rounds of speculation whose mean is compared


class Baseline:
    """Follows the seconds of a plain evaluation, and says when it is time for another one.

    Only rounds without proposals show them. When the machine becomes faster or slower while tokens
    are proposed, rounds take longer or shorter than expected, and the next two are to be plain:
    they show whether ArS has changed too. Without that the bound is broken on machines that change.
    """

    def __init__(self, seconds: float) -> None:
        self._recent = deque([seconds], RECENT)
        self._surprises = deque[float]((), SURPRISES)
        self._due = 0
        self.unseen = 0
        """Rounds of speculation since the last plain one."""

    @property
    def seconds(self) -> float:
        """The seconds of a plain evaluation, as far as is known."""
        return median(self._recent)

    @property
    def seems_changed(self) -> bool:
        """Whether a plain round is due, because the last ones were not as expected."""
        return self._due > 0

    def observe(self, seconds: float) -> None:
        """Take a round without proposals; what is not a duration is ignored."""
        if seconds > 0 and isfinite(seconds):
            self._add(seconds)
            self._surprises.clear()
            self._due = max(0, self._due - 1)
            self.unseen = 0

    def observe_speculative(self, seconds: float, expected: float) -> None:
        """Take a round with proposals, and how long it was expected to take."""
        self.unseen += 1
        if not (seconds > 0 and isfinite(seconds)):
            return
        if log(self.seconds / seconds) > CHANGED:
            self._add(seconds)  # a plain evaluation takes no longer than a wider one
        self._surprises.append(log(seconds / expected))
        mean = sum(self._surprises) / SURPRISES
        if len(self._surprises) == SURPRISES and abs(mean) > CHANGED:
            self._due = 2

    def _add(self, seconds: float) -> None:
        before = list(self._recent)
        self._recent.append(seconds)
        away = [log(each / median(before)) for each in (before[-1], seconds)]
        if min(away) > CHANGED or max(away) < -CHANGED:
            self._recent = deque([before[-1], seconds], RECENT)


class Budget:
    """Keep account of what speculation lost, or saved, against ArS, in evaluations of one token.

    Everything that ArS would not have spent is booked: proposals, draft steps, and what the draft
    reads. No round and no reading may stake more than `left`. So an answer takes at most
    `ALLOWANCE` evaluations longer than ArS, and `SHARE` of them, as long as evaluations take as
    long as they are believed to.
    """

    def __init__(self) -> None:
        self._tokens = 0
        self._lost = 0.0  # evaluations; below 0: saved

    def add(self, tokens: int, lost: float = 0.0) -> None:
        """Take tokens into account, and the evaluations by which they took longer than by ArS."""
        self._tokens += tokens
        self._lost += lost

    def left(self, cautious: bool = False) -> float:
        """Return the evaluations that may still be lost: fewer in a short answer if `cautious`."""
        most = ALLOWANCE + SHARE * self._tokens
        if cautious:
            most = min(most, CAUTIOUS_ALLOWANCE + CAUTIOUS_SHARE * self._tokens)
        return max(0.0, most - self._lost)
