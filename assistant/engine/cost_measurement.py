"""Measure what evaluations cost, in a couple of seconds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from assistant.decoding.lookahead.cost_curve import is_curve
from assistant.decoding.model import Model, most_proposals

TARGET_LIMIT_S = 2.0
"""Seconds after which no other width is begun; a large target is measured at fewer widths."""
DRAFT_LIMIT_S = 0.4
SHALLOW = 16
"""Tokens before those that are timed."""
NEEDED_WIDTHS = (1, 4)
"""Widths without which there is no curve, however long they take."""
WIDTHS = ((1, 4), (2, 16), (8, 3), (5, 32), (6, 12, 9))
"""The target's widths as they matter: a round's, a long copy's, and then where steps may be."""
READINGS = ((1, 8), (2, 64))
"""Tokens for the draft: its step, and what it has to catch up."""
LOOKS_NEEDED = 3
"""Looks after which times are believed: one alone may have met a machine in a bad moment."""
ALIKE = 1.15
"""By how much looks may differ that confirm each other; no third one is needed then."""
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Times:
    """The seconds of evaluations by the number of their tokens.

    They are of a machine at rest, as far as looks have met one. What rounds show of it since, other
    programs among it, is learnt by `Curve` again in each load, and is not kept.
    """

    seconds: dict[int, float]
    looks: int = LOOKS_NEEDED
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
        return Times(dict(sorted(fastest.items())), LOOKS_NEEDED if alike else self.looks + 1)

    @property
    def is_sound(self) -> bool:
        """Whether these can be times: what a file says may be anything."""
        return is_curve(self.seconds)


def time_target(target: Model, clock: Clock = perf_counter) -> Times:
    """Time the target's evaluations of several widths.

    Raises:
        Cancelled: it was stopped.
        ModelError: it cannot evaluate.
    """
    if not target.can_roll_back:  # it never verifies more than one token
        return Times(_fastest(target, ((1,),), (1,), TARGET_LIMIT_S, clock), looks=1)
    most = most_proposals(target) + 1
    groups = [[width for width in group if width <= most] for group in WIDTHS]
    if not any(most in group for group in groups):
        groups[0].append(most)
    needed = [min(width, most) for width in NEEDED_WIDTHS]
    return Times(_fastest(target, groups, needed, TARGET_LIMIT_S, clock), looks=1)


def time_draft(draft: Model, clock: Clock = perf_counter) -> Times:
    """Time how long the draft takes to read tokens and give one row.

    Raises:
        Cancelled: it was stopped.
        ModelError: it cannot evaluate.
    """
    return Times(_fastest(draft, READINGS, (1,), DRAFT_LIMIT_S, clock), looks=1)


def seconds(model: Model, width: int, depth: int = SHALLOW, clock: Clock = perf_counter) -> float:
    """Time one evaluation of `width` tokens after `depth` others."""
    tokens = varied(depth + width, model.n_vocab)
    model.logits(tokens[:depth], rows=0)
    started = clock()
    model.logits(tokens, rows=min(width, model.max_rows))
    return clock() - started


def varied(count: int, n_vocab: int) -> list[int]:
    """Return tokens that hardly repeat.

    A mixture of experts would evaluate the same token again with the same experts, for less.
    """
    return [(7919 * i + 1) % n_vocab for i in range(count)]


def _fastest(
    model: Model,
    groups: Sequence[Sequence[int]],
    least: Sequence[int],
    patience: float,
    clock: Clock,
) -> dict[int, float]:
    """Go twice through each group of widths while there is time; noise only ever adds."""
    deadline = clock() + patience
    fastest: dict[int, float] = {}
    for width in (width for group in groups for width in (*group, *group)):
        needed = width in least and width not in fastest
        fits = SHALLOW + width <= model.n_ctx
        if fits and (needed or clock() < deadline):
            took = seconds(model, width, clock=clock)
            fastest[width] = min(took, fastest.get(width, took))
    return fastest
