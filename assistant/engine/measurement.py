"""Measure what evaluations cost, and whether an engine computes the same in wide ones: in seconds.

Kernels for many tokens are others than those for few. Where one is wrong for a file, prompts are
misread and long drafts verified against the wrong rows; so each file is looked at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import numpy as np

from assistant.decoding.lookahead.cost_curve import is_curve
from assistant.decoding.model import Logits, Model, most_proposals

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
WIDE = 64
NARROW = 16
ERROR = 0.25
"""How far rows may be from each other on average, relative to their length. Rounding gave 0.02 to
0.11 (most in gemma-3-270m with llama.cpp), one wrong matrix 0.29 and more, wrong kernels for all
weights 0.4 to 1.1 (ik_llama.cpp 0.1.5 with Q4_1 and Q5_1)."""
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


def error_of_wide_batches(model: Model, wide: int = WIDE, narrow: int = NARROW) -> float:
    """Return how far the rows of one batch of `wide` tokens are from those of narrow batches.

    It is the mean distance of two rows after the same token, relative to the length of the one from
    the narrow batch: 0 where they are equal, about 1.4 where they have nothing in common.

    Raises:
        Cancelled: it was stopped.
        ModelError: it cannot evaluate.
    """
    if model.n_ctx < 2 * narrow:
        return 0.0
    tokens = varied(min(wide, model.n_ctx) // narrow * narrow, model.n_vocab)
    ends = range(narrow, len(tokens) + 1, narrow)
    model.logits(tokens[1:2])  # has the cache forget all others
    together = _centred(model.logits(tokens, min(len(tokens), model.max_rows)))
    model.logits(tokens[1:2])
    rows = [_centred(model.logits(tokens[:end], min(narrow, model.max_rows))) for end in ends]
    apart = np.concatenate(rows)[-len(together) :]
    lengths = np.linalg.norm(apart, axis=1)
    return float(np.mean(np.linalg.norm(together - apart, axis=1) / np.maximum(lengths, 1e-9)))


def _centred(logits: Logits) -> Logits:
    """Return a copy of rows, each less its mean, which has no effect on probabilities."""
    centred: Logits = logits - logits.mean(axis=1, keepdims=True)
    return centred
