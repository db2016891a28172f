"""What evaluations were measured to take, and what has become of that since."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp, inf, log
from statistics import median

from assistant.lookahead.staircase import is_curve

ENOUGH = 3
"""Looks after which times are believed: one alone may have met a machine in a bad moment."""
ALIKE = 1.15
"""By how much looks may differ that confirm each other; no third one is needed then."""
REMEMBERED = 0.85
"""What is left at the next load of what rounds have shown in this one."""
FURTHEST = 3.0
"""Drifts beyond that are none, as logarithms: no machine becomes twenty times as slow."""


@dataclass(frozen=True, slots=True)
class Times:
    """The seconds of evaluations by the number of their tokens."""

    seconds: dict[int, float]
    slope: float = 0.0
    """Seconds that each token takes longer for each token before it."""
    looks: int = ENOUGH
    """In how many looks they were measured; what is measured with care counts as enough."""
    drift: dict[int, float] = field(default_factory=dict)
    """Logarithms of how much longer they took when they were used last."""

    @property
    def now(self) -> dict[int, float]:
        """The seconds to reckon with."""
        return {n: s * exp(self.drift.get(n, 0.0)) for n, s in self.seconds.items()}

    def used(self, lately: Mapping[int, float]) -> "Times":
        """Return what is to be kept after a use in which they were `lately` so long.

        Only a part of that is: who is not seen any more is as it was measured after a few loads.
        """
        shown = {n: log(lately[n] / s) for n, s in self.seconds.items()}
        drift = {n: REMEMBERED * each for n, each in shown.items() if 0 < abs(each) < FURTHEST}
        return replace(self, drift=drift)

    def confirmed(self, other: "Times") -> "Times":
        """Return the fastest of both, as if this machine had been as fast in the other look.

        Noise only ever adds: what one look found too slow, or had no time for, the other mends.
        """
        both = self.seconds.keys() & other.seconds.keys()
        if not both:  # no look of ours: somebody changed the file
            return other
        pace = median(self.seconds[n] / other.seconds[n] for n in both)
        paced = {n: pace * took for n, took in other.seconds.items()}
        alike = all(1 / ALIKE < other.seconds[n] * pace / self.seconds[n] < ALIKE for n in both)
        every = sorted(self.seconds.keys() | paced.keys())
        return Times(
            {n: min(self.seconds.get(n, inf), paced.get(n, inf)) for n in every},
            self.slope or pace * other.slope,
            ENOUGH if alike else self.looks + 1,
        )

    @property
    def is_sound(self) -> bool:
        """Whether these can be times: what a file says may be anything."""
        drifts = all(abs(drift) < FURTHEST for drift in self.drift.values())
        return is_curve(self.seconds) and 0 <= self.slope < inf and drifts
