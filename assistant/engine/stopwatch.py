"""Where the time of an answer goes."""

from collections.abc import Callable
from time import perf_counter

from assistant.decoding.model import Model

Clock = Callable[[], float]
"""Seconds from some moment on. A lane of a race has one that stands still while others compute."""


class Stopwatch:
    """Measure one answer from the moment it is asked for, and the models' shares of it."""

    def __init__(self, target: Model, draft: Model | None = None, clock: Clock = perf_counter):
        self._target, self._draft, self._clock = target, draft, clock
        self._asked = self._begun = clock()
        self._busy = self._models()

    def begin(self) -> None:
        """Note that the prompt has been read and decoding begins."""
        self._begun, self._busy = self._clock(), self._models()

    @property
    def since_asked_s(self) -> float:
        """Seconds since the answer was asked for."""
        return self._clock() - self._asked

    @property
    def prefill_s(self) -> float:
        """Seconds from the question to the beginning of decoding."""
        return self._begun - self._asked

    @property
    def decode_s(self) -> float:
        """Seconds since decoding began."""
        return self._clock() - self._begun

    @property
    def verify_s(self) -> float:
        """Seconds of decoding that the target computed."""
        return self._models()[0] - self._busy[0]

    @property
    def draft_s(self) -> float:
        """Seconds of decoding that the draft computed, reading the prompt included."""
        return self._models()[1] - self._busy[1]

    def _models(self) -> tuple[float, float]:
        return self._target.busy_s, self._draft.busy_s if self._draft else 0.0
