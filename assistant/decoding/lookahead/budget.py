"""How much time speculation may lose against ArS in one answer."""

from collections import deque

ALLOWANCE = 3.0  # evaluations of one token that an answer may take longer, whatever its length
SHARE = 0.02  # or this part of those that ArS needs, where that is more
OPEN = 4  # rounds whose worth is not settled


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
