"""The progress of a measurement, and the time left."""

from collections.abc import Callable
from time import perf_counter

from assistant.decoding.lookahead.cost_measurement import seconds
from assistant.lab.protocol import Measuring
from models.base import Model

EARLY = 0.02
"""Before this share is done, nobody knows how long the rest takes."""


def effort(width: int) -> float:
    """Return about how long a batch takes, in quarters of a token's time."""
    return 3.0 + width


class Meter:
    """Time evaluations, and tell of the share that is done of all the effort that is planned."""

    def __init__(self, planned: float, tell: Callable[[Measuring], None]) -> None:
        self._planned, self._tell = planned, tell
        self._started = perf_counter()
        self._done = 0.0
        self.what = ""
        """What is being measured."""
        self.weight = 1.0
        """The effort of a token with what is being measured, beside one with the target."""

    def time(self, model: Model, width: int, depth: int) -> float:
        """Time an evaluation; see `assistant.decoding.lookahead.cost_measurement.seconds`."""
        took = seconds(model, width, depth)
        self.skip(effort(width) * self.weight)
        return took

    def skip(self, effort: float) -> None:
        """Count something as done."""
        self._done += effort
        self.tell()

    def tell(self) -> None:
        """Say how far it is."""
        fraction = min(self._done / self._planned, 1.0)
        elapsed = perf_counter() - self._started
        left_s = elapsed * (1 / fraction - 1) if fraction > EARLY else None
        self._tell(Measuring(self.what, fraction, left_s))
