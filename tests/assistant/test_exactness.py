"""The law of what decoding yields, by exact enumeration of the code as it is: no tolerance."""

import itertools
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from assistant.decoding import autoregressive, speculative
from assistant.drafting.model import ModelDrafter
from assistant.sampling import draw
from assistant.verify import residual, verify
from assistant.warp import EMPTY, Row
from tests.assistant.toys import (
    STEPWISE,
    Cascade,
    DiscardsInSecret,
    DiscardsUnlikely,
    best_two,
    repeats_halved,
)
from tests.exact import Toy, chain_rule, completed, keep_all, law, row_of

STYLES = ("full", "zeros", "one-hot", "uniform", "disjoint")


def law_of_round(target, drafter, k, warp=keep_all, start=()):
    """Return the law of the tokens that one round appends."""

    def run(rng):
        tokens = list(start)
        next(speculative(target, drafter, tokens, lambda: k, warp, rng))
        return tuple(tokens[len(start) :])

    return law(run)


def law_of_loop(target, drafter, k, length, warp=keep_all):
    """Return the law of the first `length` tokens, over as many rounds as they take."""

    def run(rng):
        tokens: list[int] = []
        rounds = speculative(target, drafter, tokens, lambda: k, warp, rng)
        while len(tokens) < length:
            next(rounds)
        return tuple(tokens[:length])

    return law(run)


def is_exact(target, drafter, k, warp=keep_all):
    """Say whether a round, continued as the target would, has the target's law."""
    round_ = law_of_round(target, drafter, k, warp)
    return completed(round_, target, k + 1, warp) == chain_rule(target, k + 1, warp)


def test_enumeration_gives_a_draw_its_row():
    row = row_of([Fraction(1, 2), 0, Fraction(1, 3), Fraction(1, 6)])
    assert law(lambda rng: draw(row, rng)) == {
        0: Fraction(1, 2),
        2: Fraction(1, 3),
        3: Fraction(1, 6),
    }


def test_enumeration_gives_a_part_of_a_row_its_share():
    row = row_of([Fraction(1, 8), Fraction(3, 8)])
    assert law(lambda rng: draw(row, rng)) == {0: Fraction(1, 4), 1: Fraction(3, 4)}


def test_autoregressive_tokens_follow_the_chain_rule():
    target = Toy(4, 1, "zeros")

    def run(rng):
        tokens: list[int] = []
        for _ in itertools.islice(autoregressive(target, tokens, keep_all, rng), 3):
            pass
        return tuple(tokens)

    assert law(run) == chain_rule(target, 3)


@pytest.mark.parametrize("styles", list(itertools.product(STYLES, STYLES)), ids="-".join)
def test_a_round_has_the_law_of_the_target_whatever_the_draft_is(styles):
    for seed, k in itertools.product(range(4), (1, 2)):
        target, draft = Toy(3, seed, styles[0]), Toy(3, seed + 1001, styles[1])
        assert is_exact(target, ModelDrafter(draft, 3), k), (seed, k)


@pytest.mark.parametrize("seed", range(60))
def test_one_position_has_the_law_of_the_target_for_many_random_rows(seed):
    target, draft = Toy(4, seed, STYLES[seed % 2]), Toy(4, -seed, STYLES[seed % 3])
    assert is_exact(target, ModelDrafter(draft, 4), 1)


def test_four_tokens_and_three_proposals_have_the_law_of_the_target():
    assert is_exact(Toy(4, 5, "zeros"), ModelDrafter(Toy(4, 6, "zeros"), 4), 3)
    assert is_exact(Toy(3, 5), ModelDrafter(Toy(3, 6), 3), 3)


@pytest.mark.parametrize("seed", range(6))
def test_a_loop_has_the_law_of_the_target_across_rounds_with_one_proposal(seed):
    target, draft = Toy(3, seed, STYLES[seed % 2]), Toy(3, seed + 50, "full")
    assert law_of_loop(target, ModelDrafter(draft, 3), 1, 3) == chain_rule(target, 3)


@pytest.mark.parametrize(("k", "length", "seed"), [(2, 4, 18), (3, 5, 27), (3, 5, 34)])
def test_a_loop_has_the_law_of_the_target_across_rounds(k, length, seed):
    target, drafter = Toy(3, seed, "zeros"), ModelDrafter(Toy(3, seed + 500, "zeros"), 3)
    assert law_of_loop(target, drafter, k, length) == chain_rule(target, length)


@pytest.mark.parametrize("source", STEPWISE)
@pytest.mark.parametrize("k", [1, 2])
def test_a_draft_may_come_from_any_source_and_end_anywhere(source, k):
    for seed, style in itertools.product(range(4), ("full", "zeros")):
        target, draft = Toy(3, seed, style), Toy(3, seed + 700, style)
        assert is_exact(target, source(draft), k), (seed, style)


def test_sub_probability_rows_are_exact_across_rounds():
    target = Toy(3, 3, "full")
    for source in (DiscardsUnlikely, Cascade):
        drafter = source(Toy(3, 4, "zeros"))
        assert law_of_loop(target, drafter, 2, 3) == chain_rule(target, 3)


def test_a_draft_that_hides_what_it_discards_is_biased():
    assert not is_exact(Toy(3, 1), DiscardsInSecret(Toy(3, 2), 3), 2)


@pytest.mark.parametrize("warp", [best_two, repeats_halved])
def test_warped_rows_have_the_law_of_the_warped_target(warp):
    for seed in range(3):
        target, drafter = Toy(3, seed), ModelDrafter(Toy(3, seed + 9), 3)
        assert is_exact(target, drafter, 2, warp)
    assert law_of_loop(target, drafter, 1, 3, warp) == chain_rule(target, 3, warp)


def test_the_draft_may_be_warped_otherwise_than_the_target():
    class Unwarped(ModelDrafter):
        def propose(self, tokens, k, warp, rng):
            return super().propose(tokens, k, keep_all, rng)

    assert is_exact(Toy(3, 1), Unwarped(Toy(3, 2), 3), 2, best_two)


def test_padding_at_the_end_of_either_vocabulary_changes_nothing():
    target, draft = Toy(3, 1), Toy(4, 2)
    assert is_exact(target, ModelDrafter(draft, 3), 2, repeats_halved)
    target, draft = Toy(4, 1), Toy(3, 2)
    assert is_exact(target, ModelDrafter(draft, 4), 2, repeats_halved)


def test_lookahead_may_vary_with_past_rounds():
    target, drafter = Toy(3, 5, "zeros"), ModelDrafter(Toy(3, 6), 3)

    def run(rng):
        tokens: list[int] = []
        k = 1
        rounds = speculative(target, drafter, tokens, lambda: k, keep_all, rng)
        while len(tokens) < 4:
            accepted = next(rounds).accepted
            k = 2 if accepted == k else 0
        return tuple(tokens[:4])

    assert law(run) == chain_rule(target, 4)


def test_the_two_loops_may_take_turns():
    target, drafter = Toy(3, 7, "zeros"), ModelDrafter(Toy(3, 8), 3)

    def run(rng):
        tokens: list[int] = []
        ars = autoregressive(target, tokens, keep_all, rng)
        sps = speculative(target, drafter, tokens, lambda: 2, keep_all, rng)
        while len(tokens) < 4:
            next(sps if sum(tokens) % 2 else ars)
        return tuple(tokens[:4])

    assert law(run) == chain_rule(target, 4)


def test_expected_acceptance_is_the_overlap_of_the_rows():
    for seed in range(10):
        target, draft = Toy(4, seed, "zeros"), Toy(4, seed + 10)

        def accepted(rng, target=target, draft=draft):
            rounds = speculative(target, ModelDrafter(draft, 4), [], lambda: 1, keep_all, rng)
            return next(rounds).accepted

        overlap = sum(map(min, target.probs(()), draft.probs(())))
        assert law(accepted).get(1, 0) == overlap


def test_expected_tokens_of_longer_drafts_multiply_along_the_path():
    target, draft = Toy(3, 11), Toy(3, 12)

    def accepted(rng):
        rounds = speculative(target, ModelDrafter(draft, 3), [], lambda: 2, keep_all, rng)
        return next(rounds).accepted

    first = [min(t, d) for t, d in zip(target.probs(()), draft.probs(()), strict=True)]
    second = [sum(map(min, target.probs((x,)), draft.probs((x,)))) for x in range(3)]
    outcome = law(accepted)
    assert outcome[1] + outcome[2] == sum(first)
    assert outcome[2] == sum(a * b for a, b in zip(first, second, strict=True))


def test_equal_rows_are_always_accepted_and_disjoint_ones_never():
    same = law_of_round(Toy(3, 1), ModelDrafter(Toy(3, 1), 3), 2)
    assert {len(tokens) for tokens in same} == {3}
    apart = law_of_round(Toy(4, 0, "disjoint"), ModelDrafter(Toy(4, 1, "disjoint"), 4), 2)
    assert {len(tokens) for tokens in apart} == {1}


def test_provenance_says_where_each_token_was_drawn():
    target, draft = Toy(3, 1), Toy(3, 2)
    seen = defaultdict(Fraction)

    def run(rng):
        rounds = speculative(target, ModelDrafter(draft, 3), [], lambda: 1, keep_all, rng)
        return next(rounds)

    for round_, probability in law(lambda rng: run(rng)).items():
        kinds = tuple(token.origin.value for token in round_.tokens)
        seen[kinds] += probability
        for i, token in enumerate(round_.tokens):
            before = tuple(each.id for each in round_.tokens[:i])
            assert token.target_row.prob(token.id) == target.probs(before)[token.id] > 0
    overlap = sum(map(min, target.probs(()), draft.probs(())))
    assert seen == {("draft", "target"): overlap, ("residual",): 1 - overlap}


class Zero:
    """The smallest uniform there is."""

    def random(self) -> float:
        return 0.0


def test_token_the_target_forbids_is_never_accepted_even_when_the_uniform_is_0():
    target, draft = row_of([1, 0]), row_of([Fraction(1, 2), Fraction(1, 2)])
    verdict = verify((1,), (draft, EMPTY), (target, target), Zero())
    assert verdict.accepted == 0
    assert list(verdict.row.ids) == [0]


def test_token_that_the_draft_could_not_draw_is_accepted_if_the_target_allows_it():
    target, draft = row_of([1, 0]), row_of([0, 1])
    assert verify((0,), (draft, EMPTY), (target, target), Zero()).accepted == 1


def test_equal_rows_leave_the_target_as_residual():
    row = row_of([Fraction(1, 3), Fraction(2, 3)])
    assert residual(row, row) is row


def test_residual_lists_only_what_the_target_has_more_of():
    target = Row(np.array([1, 5, 9]), np.array([0.5, 0.25, 0.25]))
    draft = Row(np.array([0, 1, 5]), np.array([0.25, 0.25, 0.5]))
    left = residual(target, draft)
    assert list(left.ids) == [1, 9]
    assert list(left.probs) == [0.25, 0.25]


def test_rows_are_read_only_up_to_the_first_rejection():
    target, draft = row_of([1, 0]), row_of([0, 1])

    def rows():
        yield target
        raise AssertionError("read too far")

    assert verify((1, 1), (draft, draft, EMPTY), rows(), Zero()).accepted == 0


def test_missing_rows_are_refused():
    row = row_of([1])
    with pytest.raises(ValueError, match="need 2 rows"):
        verify((0,), (row,), (row, row), Zero())
