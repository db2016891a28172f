"""The law of what decoding yields, by exact enumeration of the code as it is: no tolerance."""

import itertools
from collections import defaultdict
from fractions import Fraction

import pytest

from assistant.decoding.draw import draw
from assistant.decoding.loops import autoregressive, speculative
from assistant.decoding.mapping import Mapping
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Fixed
from assistant.decoding.sources.model import ModelSource
from tests.exact.exact_rows import keep_all, row_of
from tests.exact.law import law
from tests.exact.toy import Toy, best_two, chain_rule, completed, repeats_halved
from tests.exact.toy_sources import STEPWISE, modelled

STYLES = ("full", "zeros", "one-hot", "uniform", "disjoint")
by_every_rule = pytest.mark.parametrize("rule", [TokenRule, BlockRule])


def sps(rule, target, drafter, k, rng, tokens=None, warp=keep_all):
    """Return rounds that propose `k` tokens each."""
    tokens = [] if tokens is None else tokens
    return speculative(target, drafter, tokens, lambda: Fixed(k), warp, rule(rng))


def law_of_round(rule, target, drafter, k, warp=keep_all, start=()):
    """Return the law of the tokens that one round appends."""

    def run(rng):
        tokens = list(start)
        next(sps(rule, target, drafter, k, rng, tokens, warp))
        return tuple(tokens[len(start) :])

    return law(run)


def law_of_loop(rule, target, drafter, k, length, warp=keep_all):
    """Return the law of the first `length` tokens, over as many rounds as they take."""

    def run(rng):
        tokens: list[int] = []
        rounds = sps(rule, target, drafter, k, rng, tokens, warp)
        while len(tokens) < length:
            next(rounds)
        return tuple(tokens[:length])

    return law(run)


def law_of_acceptance(rule, target, drafter, k):
    """Return the law of how many proposals of a round are accepted."""
    return law(lambda rng: next(sps(rule, target, drafter, k, rng)).accepted)


def is_exact(rule, target, drafter, k, warp=keep_all):
    """Say whether a round, continued as the target would, has the target's law."""
    round_ = law_of_round(rule, target, drafter, k, warp)
    return completed(round_, target, k + 1, warp) == chain_rule(target, k + 1, warp)


def test_enumeration_gives_each_token_of_a_part_of_a_row_its_share():
    row = row_of([Fraction(1, 4), 0, Fraction(1, 6), Fraction(1, 12)])
    shares = {0: Fraction(1, 2), 2: Fraction(1, 3), 3: Fraction(1, 6)}
    assert law(lambda rng: draw(row, rng)) == shares


@by_every_rule
def test_autoregressive_tokens_follow_the_chain_rule(rule):
    target = Toy(4, 1, "zeros")

    def run(rng):
        tokens: list[int] = []
        for _ in itertools.islice(autoregressive(target, tokens, keep_all, rule(rng)), 3):
            pass
        return tuple(tokens)

    assert law(run) == chain_rule(target, 3)


@by_every_rule
@pytest.mark.parametrize("styles", list(itertools.product(STYLES, STYLES)), ids="-".join)
def test_a_round_has_the_law_of_the_target_whatever_the_draft_is(rule, styles):
    for seed, k in itertools.product(range(4), (1, 2)):
        target, draft = Toy(3, seed, styles[0]), Toy(3, seed + 1001, styles[1])
        assert is_exact(rule, target, modelled(draft), k), (seed, k)


@by_every_rule
def test_rare_and_nearly_certain_tokens_have_the_law_of_the_target(rule):
    for seed, k in itertools.product(range(8), (1, 2)):
        target, draft = Toy(3, seed, "sharp"), Toy(3, seed + 1001, "sharp")
        assert is_exact(rule, target, modelled(draft), k), (seed, k)


@by_every_rule
def test_four_tokens_and_three_proposals_have_the_law_of_the_target(rule):
    assert is_exact(rule, Toy(4, 5, "zeros"), modelled(Toy(4, 6, "zeros"), 4), 3)
    assert is_exact(rule, Toy(3, 5), modelled(Toy(3, 6)), 3)


@by_every_rule
@pytest.mark.parametrize(
    ("k", "length", "seed"), [*((1, 3, seed) for seed in range(6)), (2, 4, 18), (3, 4, 27)]
)
def test_a_loop_has_the_law_of_the_target_across_rounds(rule, k, length, seed):
    target, drafter = Toy(3, seed, "zeros"), modelled(Toy(3, seed + 500, "zeros"))
    assert law_of_loop(rule, target, drafter, k, length) == chain_rule(target, length)


@by_every_rule
@pytest.mark.parametrize("source", STEPWISE)
@pytest.mark.parametrize("k", [1, 2])
def test_a_draft_may_come_from_any_source_and_end_anywhere(rule, source, k):
    for seed, style in itertools.product(range(4), ("full", "zeros")):
        target, draft = Toy(3, seed, style), Toy(3, seed + 700, style)
        assert is_exact(rule, target, source(draft), k), (seed, style)


@by_every_rule
@pytest.mark.parametrize("warp", [best_two, repeats_halved])
def test_warped_rows_have_the_law_of_the_warped_target(rule, warp):
    for seed in range(3):
        target, drafter = Toy(3, seed), modelled(Toy(3, seed + 9))
        assert is_exact(rule, target, drafter, 2, warp)


@by_every_rule
def test_the_draft_may_be_warped_otherwise_than_the_target(rule):
    class Unwarped(ModelSource):
        def row(self, tokens, warp):
            return super().row(tokens, keep_all)

    drafter = Cascade(Unwarped(Toy(3, 2), Mapping.by_number(3, 3)))
    assert is_exact(rule, Toy(3, 1), drafter, 2, best_two)


@by_every_rule
def test_padding_at_the_end_of_either_vocabulary_changes_nothing(rule):
    target, draft = Toy(3, 1), Toy(4, 2)
    assert is_exact(rule, target, modelled(draft), 2, repeats_halved)
    target, draft = Toy(4, 1), Toy(3, 2)
    assert is_exact(rule, target, modelled(draft, 4), 2, repeats_halved)


@by_every_rule
def test_provenance_says_where_each_token_was_drawn(rule):
    target, draft = Toy(3, 1), Toy(3, 2)
    seen = defaultdict(Fraction)

    def run(rng):
        rounds = sps(rule, target, modelled(draft), 1, rng)
        return next(rounds)

    for round_, probability in law(lambda rng: run(rng)).items():
        kinds = tuple(token.origin.value for token in round_.tokens)
        seen[kinds] += probability
        for i, token in enumerate(round_.tokens):
            before = tuple(each.id for each in round_.tokens[:i])
            assert token.target_row.prob(token.id) == target.probs(before)[token.id] > 0
    overlap = sum(map(min, target.probs(()), draft.probs(())))
    assert seen == {("draft", "target"): overlap, ("residual",): 1 - overlap}
