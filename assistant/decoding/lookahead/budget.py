"""How long ArS takes now, and how much time speculation may lose to it in one answer."""

from collections import deque
from math import isfinite, log
from statistics import median

ALLOWANCE = 3.5  # evaluations of one token that an answer may take longer, whatever its length
SHARE = 0.02  # or this part of those that ArS needs, where that is more
OPEN = 4  # rounds whose worth is not settled
RECENT = 9  # rounds of ArS whose median is believed
CHANGED = log(1.2)  # from here on it is no noise, if two in a row say so
SURPRISES = 3  # rounds of speculation whose mean is compared


class Reference:
    """Follow the seconds of a plain evaluation, and say when it is time to look at them again.

    Only rounds without proposals show them. When the machine becomes faster or slower while tokens
    are proposed, rounds take longer or shorter than expected, and the next one is to be plain:
    that tells whether ArS has changed too.
    """

    def __init__(self, seconds: float) -> None:
        self._recent = deque([seconds], RECENT)
        self._surprises = deque[float]((), SURPRISES)
        self._looks = 0
        self.unseen = 0
        """Rounds of speculation since the last plain one."""

    @property
    def seconds(self) -> float:
        """The seconds of a plain evaluation, as far as is known."""
        return median(self._recent)

    @property
    def seems_changed(self) -> bool:
        """Whether a plain round is due, because the last ones were not as expected."""
        return self._looks > 0

    def move(self, times: float) -> None:
        """Expect so many times as much from now on, as of another place in the text."""
        self._recent = deque((times * each for each in self._recent), RECENT)

    def saw_plain(self, seconds: float) -> None:
        """Take a round without proposals; what is not a duration is ignored."""
        if not (seconds > 0 and isfinite(seconds)):
            return
        self._take(seconds)
        self._surprises.clear()
        self._looks = max(0, self._looks - 1)
        self.unseen = 0

    def saw_other(self, seconds: float, expected: float) -> None:
        """Take a round with proposals, and how long it was expected to take."""
        self.unseen += 1
        if not (seconds > 0 and isfinite(seconds)):
            return
        if log(self.seconds / seconds) > CHANGED:
            self._take(seconds)  # a plain evaluation takes no longer than a wider one
        self._surprises.append(log(seconds / expected))
        mean = sum(self._surprises) / SURPRISES
        if len(self._surprises) == SURPRISES and abs(mean) > CHANGED:
            self._looks = 2

    def _take(self, seconds: float) -> None:
        before = list(self._recent)
        self._recent.append(seconds)
        away = [log(each / median(before)) for each in (before[-1], seconds)]
        if min(away) > CHANGED or max(away) < -CHANGED:
            self._recent = deque([before[-1], seconds], RECENT)


class Budget:
    """Keep account of what speculation lost, or saved, against ArS, in evaluations of one token.

    Everything that ArS would not have spent is booked: proposals, draft steps, and what the draft
    reads. No round and no reading may stake more than `left`. So an answer takes at most
    `ALLOWANCE` evaluations longer than ArS, or `SHARE` of them, as long as evaluations take as long
    as they are believed to.

    What ArS would have taken for the last rounds is not settled. When the whole machine becomes
    slower, it looks at first as if speculation had; the rounds of a pause show that it was not.
    """

    def __init__(self) -> None:
        self._tokens = 0.0
        self._settled = 0.0  # evaluations lost; below 0: saved
        self._open: deque[tuple[float, float]] = deque()

    def rest(self, tokens: float, token_s: float) -> None:
        """Take tokens into account that were decoded as ArS decodes them."""
        self._tokens += tokens
        self._settle(token_s, len(self._open) - 1)

    def spend(self, seconds: float, tokens: float, token_s: float) -> None:
        """Take time into account in which speculation has yielded so many tokens, or none.

        `token_s` are the seconds that ArS takes for a token now.
        """
        self._tokens += tokens
        self._open.append((seconds, tokens))
        self._settle(token_s, OPEN)

    def left(self, token_s: float) -> float:
        """Return the evaluations that may still be lost, when ArS takes `token_s` for a token."""
        seconds = sum(each_s for each_s, _ in self._open)
        tokens = sum(each for _, each in self._open)
        lost = self._settled + seconds / token_s - tokens
        return max(0.0, max(ALLOWANCE, SHARE * self._tokens) - lost)

    def _settle(self, token_s: float, most: int) -> None:
        """Leave at most so many rounds open."""
        while len(self._open) > max(0, most):
            seconds, tokens = self._open.popleft()
            self._settled += seconds / token_s - tokens
