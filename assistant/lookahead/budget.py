"""How much time speculation may lose against ArS before it has to pause."""

from collections import deque

LOSS_ALLOWED = 0.02  # of the decoding time so far
ALLOWANCE = 4  # evaluations of one token that may be lost, and saved up, on top
OPEN = 16  # rounds whose worth is still open


class Budget:
    """Keep account of the time that speculation lost, or saved, against ArS.

    The debt may be a fiftieth of all decoding time and a small allowance, whatever the estimates
    promise, and no round may stake more than is left of that. So decoding takes at most 1.02 times
    as long as ArS is estimated to, and the allowance; and what a round took longer than it was
    believed to, and the draft to read a text that it was to pay for.

    What ArS had taken for the last rounds is not settled yet. When the whole machine becomes
    slower, it looks at first as if speculation had; the rounds of a pause show that it was not.
    """

    def __init__(self) -> None:
        self._elapsed = 0.0
        self._settled = 0.0
        self._open: deque[tuple[float, float]] = deque()

    def rest(self, seconds: float) -> None:
        """Take time into account in which nothing was proposed."""
        self._elapsed += seconds

    def spend(self, seconds: float, tokens: float, ars_token_s: float) -> None:
        """Take time into account in which speculation has yielded so many tokens."""
        self._elapsed += seconds
        self._open.append((seconds, tokens))
        if len(self._open) > OPEN:
            oldest_s, oldest = self._open.popleft()
            debt = self._settled + oldest_s - oldest * ars_token_s
            self._settled = max(debt, -ALLOWANCE * ars_token_s)

    def left(self, ars_token_s: float) -> float:
        """Return the seconds that may be lost yet, as a token of ArS takes so long now."""
        lost = sum(seconds - tokens * ars_token_s for seconds, tokens in self._open)
        debt = max(self._settled + lost, -ALLOWANCE * ars_token_s)
        return max(0.0, LOSS_ALLOWED * self._elapsed + ALLOWANCE * ars_token_s - debt)
