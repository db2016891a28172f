"""`draw`, `residual` and the token rule at their edges; `tests/exact` enumerates their laws."""

from fractions import Fraction

import numpy as np
import pytest

from assistant.decoding.row import Row, one_hot
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.rule import BLOCK, LONG, TokenRule, draw, excess, residual
from tests.assistant.decoding.rules.fixed_uniforms import FixedUniforms, draft_of
from tests.exact.exact_rows import row_of

HALF = Fraction(1, 2)
HALVES = Row(np.array([3, 7]), np.array([0.5, 0.5]))


def test_the_smallest_uniform_draws_the_first_token_and_a_boundary_the_next():
    assert [draw(HALVES, FixedUniforms(uniform)) for uniform in (0.0, 0.5)] == [3, 7]


def test_a_product_that_rounds_up_to_the_total_draws_the_last_token():
    # A subnormal total: there the product has too few digits to stay below it.
    row = Row(np.array([3, 7]), np.array([5e-324, 5e-324]))
    assert draw(row, FixedUniforms(np.nextafter(1, 0))) == 7


@pytest.mark.parametrize("size", [LONG - 1, LONG, LONG + 1, 10 * LONG + 77])
def test_long_rows_are_inverted_as_short_ones_are(size):
    rng = np.random.default_rng(2)
    probs = rng.random(size) ** 9 + 1e-12
    cumulative = np.cumsum(probs) / probs.sum()
    row = Row(np.arange(size), probs)
    for u in (*rng.random(300), 0.0, np.nextafter(1, 0)):
        token = draw(row, FixedUniforms(u))
        before = cumulative[token - 1] if token else 0.0
        assert before - 1e-12 <= u <= cumulative[token] + 1e-12


def test_every_token_of_a_long_row_can_be_drawn_at_the_edges_of_blocks():
    row = Row(np.arange(LONG), np.ones(LONG))
    for token in (0, BLOCK - 1, BLOCK, LONG - BLOCK - 1, LONG - BLOCK, LONG - 1):
        assert draw(row, FixedUniforms((token + 0.5) / LONG)) == token


def test_a_residual_holds_only_tokens_of_which_the_target_has_more():
    target = Row(np.array([1, 5, 9]), np.array([0.5, 0.25, 0.25]))
    left = residual(target, Row(np.array([0, 1, 5]), np.array([0.25, 0.25, 0.5])))
    assert (left.ids.tolist(), left.probs.tolist()) == ([1, 9], [0.25, 0.25])


def test_the_residual_of_equal_rows_is_the_target():
    row = row_of([Fraction(1, 3), Fraction(2, 3)])
    assert len(excess(row, row).ids) == 0
    assert residual(row, row) is row


def test_token_the_target_forbids_is_never_accepted_even_when_the_uniform_is_0():
    target, draft = row_of([1, 0]), row_of([HALF, HALF])
    verdict = TokenRule(FixedUniforms(0)).verify(draft_of((1,), (draft,)), (target, target), 0)
    assert (verdict.accepted, verdict.row.ids.tolist()) == (0, [0])


@pytest.mark.parametrize("rule", [TokenRule, BlockRule])
def test_token_that_the_draft_could_not_draw_is_accepted_if_the_target_allows_it(rule):
    target, draft = row_of([1, 0]), draft_of((0,), (row_of([0, 1]),))
    assert rule(FixedUniforms(0.9)).verify(draft, (target, target), 0).accepted == 1


def test_rows_are_read_only_up_to_the_first_rejection():
    target, draft = row_of([1, 0]), row_of([0, 1])

    def rows():
        yield target
        raise AssertionError("read too far")

    rule = TokenRule(FixedUniforms(0.5))
    assert rule.verify(draft_of((1, 1), (draft, draft)), rows(), 0).accepted == 0


@pytest.mark.parametrize(
    "rule", [TokenRule(FixedUniforms(0)), BlockRule(FixedUniforms(0)), CoupledRule(1)]
)
def test_missing_rows_are_refused(rule):
    with pytest.raises(ValueError, match="need 2 rows"):
        rule.verify(draft_of((0,), (one_hot(0),)), (one_hot(0),), 0)
