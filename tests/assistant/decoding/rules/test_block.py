"""The block rule accepts more than the token rule, by enumeration; and its edge cases.

That its output has the target's law is in `test_enumeration`.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from assistant.decoding.row import EMPTY, Row, one_hot
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.rule import TokenRule
from tests.assistant.decoding.rules.fixed_uniforms import FixedUniforms, draft_of
from tests.exact.exact_rows import row_of
from tests.exact.law_of_rounds import law_of_acceptance, law_of_round
from tests.exact.toy import Toy
from tests.exact.toy_sources import STEPWISE, modelled

HALF = Fraction(1, 2)


def both(target, drafter, k):
    """Return how many proposals each rule accepts on average, the token rule first."""
    laws = (law_of_acceptance(rule, target, drafter, k) for rule in (TokenRule, BlockRule))
    return [sum(accepted * chance for accepted, chance in law.items()) for law in laws]


class Coin(Toy):
    """Two tokens, the same row everywhere."""

    def __init__(self, *probs):
        super().__init__(2, 0)
        self._row = probs

    def probs(self, prefix):
        return self._row


def test_the_example_of_the_block_papers_section_2_is_reproduced():
    """Sun et al., section 2: 10/9 tokens with the token rule, 11/9 with the block rule."""
    third = Fraction(1, 3)
    target, draft = Coin(third, 2 * third), Coin(2 * third, third)
    assert both(target, modelled(draft, 2), 2) == [Fraction(10, 9), Fraction(11, 9)]


@pytest.mark.parametrize("habit", ["asks a model", *STEPWISE])
def test_the_block_rule_accepts_no_fewer_whatever_the_draft(habit):
    source, gains = STEPWISE.get(habit, modelled), []
    for seed, style in itertools.product(range(5), ("full", "zeros")):
        token, block = both(Toy(3, seed, style), source(Toy(3, seed + 300, "full")), 2)
        gains.append(block - token)
    assert min(gains) >= 0
    # The others may end too soon, or draw from one-hot rows.
    if habit in ("asks a model", "discards what is unlikely"):
        assert max(gains) > 0


@pytest.mark.parametrize("seed", range(10))
def test_with_one_proposal_the_block_rule_is_the_token_rule(seed):
    target, drafter = Toy(4, seed, "zeros"), modelled(Toy(4, seed + 40), 4)
    laws = [law_of_round(rule, target, drafter, 1) for rule in (TokenRule, BlockRule)]
    assert laws[0] == laws[1]


def test_a_prefix_is_accepted_with_the_probability_of_its_share():
    target, draft = Toy(3, 21), Toy(3, 22)
    law = law_of_acceptance(BlockRule, target, modelled(draft), 3)
    for length in (1, 2, 3):
        kept = Fraction(0)
        for tokens in itertools.product(range(3), repeat=length):
            drawn, share = Fraction(1), Fraction(1)
            for i, token in enumerate(tokens):
                d = draft.probs(tokens[:i])[token]
                drawn, share = drawn * d, min(1, share * target.probs(tokens[:i])[token] / d)
            kept += drawn * share
        assert sum(p for accepted, p in law.items() if accepted >= length) == kept


def test_no_target_row_is_read_after_a_forbidden_token():
    target, draft = row_of([1, 0]), row_of([HALF, HALF])

    def rows():
        yield target
        yield target
        raise AssertionError("read too far")

    rule = BlockRule(FixedUniforms(0.0))
    verdict = rule.verify(draft_of((0, 1, 0), (draft, draft, draft)), rows(), 0)
    assert verdict.accepted == 1
    assert len(verdict.target_rows) == len(verdict.uniforms) == 2
    assert list(verdict.row.ids) == [0]


def test_a_forbidden_token_is_rejected_though_the_draft_could_not_draw_it_either():
    target, draft = row_of([1, 0]), draft_of((1,), (row_of([1, 0]),))
    assert BlockRule(FixedUniforms(0.0)).verify(draft, (target, target), 0).accepted == 0


def test_equal_rows_are_accepted_whatever_rounding_makes_of_them():
    rng = np.random.default_rng(3)
    for _ in range(300):
        probs = rng.random(7) ** 20 + 1e-300
        row = Row(np.arange(7), probs / probs.sum())
        draft = draft_of((1, 2, 3), (row, row, row))
        verdict = BlockRule(FixedUniforms(1 - 2**-53)).verify(draft, [row] * 4, 0)
        assert verdict.accepted == 3


def test_probabilities_near_0_cause_no_division_by_0():
    tiny = Row(np.array([0, 1]), np.array([5e-324, 1.0]))
    with np.errstate(all="raise", under="ignore"):
        for target, draft in itertools.product((tiny, one_hot(0), one_hot(1)), repeat=2):
            for tokens in itertools.product((0, 1), repeat=2):
                for last in (EMPTY, tiny):
                    proposed = draft_of(tokens, (draft, draft), last)
                    verdict = BlockRule(FixedUniforms(0.0, 0.0)).verify(proposed, [target] * 3, 0)
                    assert verdict.row.probs.sum() > 0
