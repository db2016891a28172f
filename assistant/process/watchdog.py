"""When silence becomes a hang."""

from time import monotonic

PATIENCE = 30.0
"""Seconds that a worker may take for a sign of life, and to stop when it is told to."""


class Watchdog:
    """Decide when a busy worker is asked for a sign of life, and when it is given up.

    A pong comes from a thread that has nothing else to do, also while llama.cpp computes.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._heard = monotonic()
        self._asked: float | None = None
        self._told_to_stop: float | None = None

    @property
    def interval(self) -> float:
        """Seconds between two looks."""
        return self._patience / 6

    def heard(self) -> None:
        """Note that the worker has said something."""
        self._heard, self._asked = monotonic(), None

    def told_to_stop(self) -> None:
        """Note that the worker has to end its job soon."""
        self._told_to_stop = self._told_to_stop or monotonic()

    def job_over(self) -> None:
        """Note that the job has come to its end."""
        self._told_to_stop = None

    @property
    def wants_ping(self) -> bool:
        """Whether it is time to ask for a sign of life, which is then taken as done."""
        now = monotonic()
        if self._asked is not None or now - self._heard < self.interval:
            return False
        self._asked = now
        return True

    @property
    def complaint(self) -> str | None:
        """Why the worker is given up, or None."""
        now = monotonic()
        if self._asked is not None and now - self._asked > self._patience:
            return f"it gave no sign of life for {self._patience:.0f} seconds"
        if self._told_to_stop is not None and now - self._told_to_stop > self._patience:
            return f"it did not stop within {self._patience:.0f} seconds"
        return None
