"""The clock of a replay, which can be held."""

from time import monotonic


class ReplayClock:
    """Run from 0 to `length` seconds at the speed of the world."""

    def __init__(self, length: float) -> None:
        self.length = length
        self.at = 0.0
        self.paused = False
        self._seen = monotonic()

    def tick(self) -> float:
        """Return where it is now."""
        now = monotonic()
        if not self.paused:
            self.at = min(self.at + now - self._seen, self.length)
        self._seen = now
        return self.at

    def toggle(self) -> None:
        """Hold it, or let it go on."""
        self.tick()
        self.paused = not self.paused

    def skip(self) -> None:
        """Go to the end."""
        self.at, self.paused = self.length, False

    @property
    def over(self) -> bool:
        """Whether it has come to its end."""
        return self.at >= self.length
