"""The laws of whole rounds, by enumeration of the shipped loop."""

from functools import partial

from assistant.decoding.lookahead.plans import FixedPlan
from assistant.decoding.loops import speculative_round
from tests.exact.exact_rows import keep_all
from tests.exact.law import law


def a_round(rule, target, drafter, k, rng, warp=keep_all):
    """Return a round that proposes `k` tokens."""
    return speculative_round(target, drafter, [], FixedPlan(k), warp, rule(rng))[0]


def law_of_round(rule, target, drafter, k, warp=keep_all):
    """Return the law of the tokens that one round yields."""
    rounds = partial(a_round, rule, target, drafter, k, warp=warp)
    return law(lambda rng: tuple(each.id for each in rounds(rng).tokens))


def law_of_acceptance(rule, target, drafter, k):
    """Return the law of how many proposals of a round are accepted."""
    return law(lambda rng: a_round(rule, target, drafter, k, rng).accepted)
