"""The formulas of `forecast`: break-even acceptance rate, best lookahead, cheapest proposal."""

import pytest

from assistant.decoding.lookahead.costs import Curve
from assistant.decoding.lookahead.forecast import (
    best_lookahead,
    break_even,
    cheapest_proposal,
    expected_tokens,
)

TOKEN_S = 0.04


@pytest.mark.parametrize("k", [1, 2, 3, 7, 15, 31])
@pytest.mark.parametrize("round_s", [TOKEN_S, 0.05, 0.07, 0.079])
def test_at_the_break_even_rate_a_round_is_as_fast_as_ars(k, round_s):
    rate = break_even(k, round_s, TOKEN_S)
    assert expected_tokens(rate or 0, k) * TOKEN_S == pytest.approx(round_s, rel=1e-4)


def test_a_round_that_takes_longer_than_all_its_tokens_never_pays():
    assert break_even(1, 0.0801, TOKEN_S) is None
    assert break_even(1, 0.08, TOKEN_S) == 1


def test_the_best_lookahead_skips_a_dear_width_and_is_0_where_nothing_pays():
    verify = {1: 0.04, 2: 0.075, 3: 0.11, 4: 0.08}
    assert best_lookahead(0.9, verify, 0.0) == pytest.approx((3, 3.439 * 0.04 / 0.08))
    assert best_lookahead(0.9, {1: 0.04, 2: 0.08, 4: 0.16}, 0.0) == (0, 1.0)
    assert best_lookahead(0.9, {1: 0.04, 2: 0.05, 4: 0.06}, 0.04) == (0, 1.0)


@pytest.mark.parametrize("step_s", [0.0, 0.01, 0.03])
@pytest.mark.parametrize(
    "verify",
    [
        {1: 0.04, 2: 0.075, 4: 0.09, 8: 0.2, 16: 0.3},
        {1: 0.04, 2: 0.041, 16: 0.05},
        {1: 0.04, 2: 0.08, 16: 0.64},
    ],
)
def test_proposals_accepted_less_often_than_their_least_cost_never_pay(verify, step_s):
    curve = Curve(verify)
    cost = cheapest_proposal({width: curve(width) for width in range(1, 17)}, step_s)
    rounds_s = {k: curve(k + 1) + k * step_s for k in range(1, 16)}
    for k, round_s in rounds_s.items():
        assert expected_tokens(min(1.0, 0.99 * cost), k) * TOKEN_S < round_s
    least = [(round_s / TOKEN_S - 1) / k for k, round_s in rounds_s.items()]
    assert cost == pytest.approx(min(least))
