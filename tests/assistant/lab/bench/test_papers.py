"""The formulas give the papers' printed numbers."""

import numpy as np
import pytest

from assistant.decoding.lookahead import theory
from assistant.decoding.row import Row
from assistant.decoding.rules.residual import residual

# Leviathan et al. 2023, table 1, with c = 0: acceptance rate, lookahead, operations, speed
LEVIATHAN_1 = [
    (0.6, 2, 1.53, 1.96),
    (0.7, 3, 1.58, 2.53),
    (0.8, 2, 1.23, 2.44),
    (0.8, 5, 1.63, 3.69),
    (0.9, 2, 1.11, 2.71),
    (0.9, 10, 1.60, 6.86),
]


@pytest.mark.parametrize(("rate", "k", "operations", "speed"), LEVIATHAN_1)
def test_leviathan_operations_and_speed_of_table_1(rate, k, operations, speed):
    assert round(theory.operations_factor(rate, k, 0.0), 2) == operations
    assert round(theory.wall_clock_factor(rate, k, 0.0), 2) == speed
    closed = (1 - rate ** (k + 1)) / (1 - rate)
    assert theory.expected_tokens(rate, k) == pytest.approx(closed)


@pytest.mark.parametrize(("share", "speedup"), [(0.8, 2.65), (0.62, 2.05)])
def test_estimate_from_the_share_of_a_round_gives_the_published_examples(share, speedup):
    """Chen et al.'s times: a draft step of 1.8 ms, a token of the target of 14.1 ms, K = 4."""
    seconds = theory.estimated_seconds(1000, share, 4, 0.0018, 0.0141)
    assert round(1000 * 0.0141 / seconds, 2) == speedup
    assert theory.estimated_seconds(1000, 1.0, 0, 0.0018, 0.0141) == pytest.approx(14.1)  # ArS


def test_qualcomm_residual_of_figure_10():
    target = Row(np.arange(4), np.array([0.30, 0.45, 0.10, 0.15]))
    draft = Row(np.arange(4), np.array([0.4, 0.3, 0.2, 0.1]))
    left = residual(target, draft)
    shares = dict(zip(left.ids.tolist(), left.probs / left.probs.sum(), strict=True))
    assert shares == {1: pytest.approx(0.75), 3: pytest.approx(0.25)}


def test_lookahead_pays_if_the_acceptance_rate_is_above_the_cost_ratio():
    """Leviathan et al. 2023, corollary 3.9."""
    for rate in np.linspace(0.021, 0.983, 33):
        for ratio in np.linspace(0.01, 0.99, 29):
            assert (theory.optimal_lookahead(rate, ratio) > 0) == (rate > ratio)


def test_optimal_lookahead_grows_with_acceptance_and_falls_with_cost():
    rates, ratios = np.linspace(0.1, 0.95, 18), (0.01, 0.05, 0.1, 0.2, 0.5)
    for ratio in ratios:
        ks = [theory.optimal_lookahead(rate, ratio) for rate in rates]
        assert ks == sorted(ks)
    for rate in rates:
        ks = [theory.optimal_lookahead(rate, ratio) for ratio in ratios]
        assert ks == sorted(ks, reverse=True)
    assert theory.optimal_lookahead(0.8, 0.0) == 31  # a free draft is asked for all there is room


def test_certain_acceptance_is_no_division_by_zero():
    assert theory.expected_tokens(1.0, 4) == 5
    assert theory.operations_factor(1.0, 4, 0.0) == 1
