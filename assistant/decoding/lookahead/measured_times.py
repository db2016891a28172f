"""What evaluations were measured to take."""

from dataclasses import dataclass
from statistics import median

from assistant.decoding.lookahead.staircase import is_curve

ENOUGH = 3
"""Looks after which times are believed: one alone may have met a machine in a bad moment."""
ALIKE = 1.15
"""By how much looks may differ that confirm each other; no third one is needed then."""


@dataclass(frozen=True, slots=True)
class Times:
    """The seconds of evaluations by the number of their tokens.

    They are of a machine at rest, as far as looks have met one. What rounds show of it since, other
    programs among it, is learnt by `Curve` anew in each load, and is not kept.
    """

    seconds: dict[int, float]
    looks: int = ENOUGH
    """In how many looks they were measured; what is measured with care counts as enough."""

    def confirmed(self, other: "Times") -> "Times":
        """Return the fastest of both looks, by number of tokens: noise only ever adds.

        What only one of them had time for is as it would be on the machine of the fastest.
        """
        both = self.seconds.keys() & other.seconds.keys()
        if not both:  # no look of ours: somebody changed the file
            return other
        fastest = {n: min(self.seconds[n], other.seconds[n]) for n in both}
        for look in (self, other):
            pace = median(fastest[n] / look.seconds[n] for n in both)
            paced = {n: pace * took for n, took in look.seconds.items() if n not in both}
            fastest |= paced
        shifts = [other.seconds[n] / self.seconds[n] for n in both]
        alike = max(shifts) < ALIKE * median(shifts) and min(shifts) > median(shifts) / ALIKE
        return Times(dict(sorted(fastest.items())), ENOUGH if alike else self.looks + 1)

    @property
    def is_sound(self) -> bool:
        """Whether these can be times: what a file says may be anything."""
        return is_curve(self.seconds)
