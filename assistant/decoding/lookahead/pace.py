"""How fast decoding is on the whole, lately."""

FADE = 0.97  # what a round weighs against the one after it


class RecentSpeed:
    """Tokens per second over the last thirty rounds or so."""

    def __init__(self) -> None:
        self._tokens = self._seconds = 0.0

    def add(self, tokens: float, seconds: float) -> None:
        """Take a round into account."""
        self._tokens = FADE * self._tokens + tokens
        self._seconds = FADE * self._seconds + seconds

    @property
    def tokens_per_s(self) -> float:
        """The pace; 0 before the first round."""
        return self._tokens / self._seconds if self._seconds else 0.0
