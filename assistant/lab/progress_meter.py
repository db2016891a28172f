"""The progress of a measurement, and the time left."""

from collections.abc import Callable
from time import perf_counter

from assistant.lab.protocol import Measuring

EARLY = 0.02
"""Before this share is done, nobody knows how long the rest takes."""


class Meter:
    """Tell of the share that is done of all steps that are planned, and of the time left."""

    def __init__(self, planned: int, tell: Callable[[Measuring], None]) -> None:
        self._planned, self._done, self._tell = planned, 0, tell
        self._started = perf_counter()
        self.what = ""
        """What is being measured."""

    def step(self) -> None:
        """Count a step as done."""
        self._done += 1
        fraction = min(self._done / self._planned, 1.0)
        elapsed = perf_counter() - self._started
        left_s = elapsed * (1 / fraction - 1) if fraction > EARLY else None
        self._tell(Measuring(self.what, fraction, left_s))
