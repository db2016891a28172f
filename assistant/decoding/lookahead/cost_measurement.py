"""Measure what evaluations cost, in a couple of seconds."""

from collections.abc import Callable, Sequence
from time import perf_counter

from assistant.decoding.lookahead.measured_times import Times
from models.base import Model

PATIENCE = 2.0
"""Seconds after which no other width is begun; a large target is measured at fewer widths."""
PATIENCE_FOR_DRAFT = 0.4
SHALLOW = 16
"""Tokens before those that are timed."""
LEAST = (1, 4)
"""Widths without which there is no curve, however long they take."""
WIDTHS = ((1, 4), (2, 16), (8, 3), (5, 32), (6, 12, 9))
"""The target's widths as they matter: a round's, a long copy's, and then where steps may be."""
READINGS = ((1, 8), (2, 64))
"""Tokens for the draft: its step, and what it has to catch up."""
Clock = Callable[[], float]


def time_target(target: Model, clock: Clock = perf_counter) -> Times:
    """Time the target's evaluations of several widths.

    Raises:
        Cancelled: somebody stopped it.
        ModelError: it cannot evaluate.
    """
    if not target.can_roll_back:  # it never verifies more than one token
        return Times(_fastest(target, ((1,),), (1,), PATIENCE, clock), looks=1)
    return Times(_fastest(target, WIDTHS, LEAST, PATIENCE, clock), looks=1)


def time_draft(draft: Model, clock: Clock = perf_counter) -> Times:
    """Time how long the draft takes to read tokens and give one row.

    Raises:
        Cancelled: somebody stopped it.
        ModelError: it cannot evaluate.
    """
    return Times(_fastest(draft, READINGS, (1,), PATIENCE_FOR_DRAFT, clock), looks=1)


def seconds(model: Model, width: int, depth: int = SHALLOW, clock: Clock = perf_counter) -> float:
    """Time one evaluation of `width` tokens behind `depth` others."""
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
