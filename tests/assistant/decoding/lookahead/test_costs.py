"""`Costs`: measured cost curves, interpolation, and corrections by the rounds of an answer."""

from math import inf, nan
from random import Random

import pytest

from assistant.decoding.lookahead.costs import STALE, Costs

MEASURED = {1: 0.040, 2: 0.058, 3: 0.078, 4: 0.074, 8: 0.160, 16: 0.198, 32: 0.336}
WIDTHS = range(1, 34)
ROUNDS = 9  # whose median counts
FEW = ROUNDS // 2 + 1


def drift(costs: Costs, width: int, times: float) -> float:
    """Return how much longer an evaluation takes now, as a share of a change of `times`."""
    return (costs.verify(width) / MEASURED[width] - 1) / (times - 1)


def test_measured_costs_stay_as_they_are_though_more_tokens_may_be_cheaper():
    costs = Costs(verify=MEASURED, draft={})
    assert {width: costs.verify(width) for width in MEASURED} == MEASURED
    assert costs.verify(3) > costs.verify(4)


@pytest.mark.parametrize("measured", [{1: 0.04}, {1: 0.04, 4: 0.03}])
def test_every_width_has_a_cost_and_beyond_what_was_measured_none_is_ever_cheaper(measured):
    costs = Costs(measured, measured)
    beyond = [costs.verify(width) for width in range(max(measured) // 4 * 4 + 4, 129, 4)]
    assert min(costs.verify(width) for width in WIDTHS) > 0
    assert beyond == sorted(beyond)
    assert costs.draft(3) == costs.verify(3)


@pytest.mark.parametrize(
    "wrong", [{}, {2: 0.05}, {1: 0.0}, {1: -0.1}, {1: nan}, {1: inf}, {0: 0.1, 1: 0.1}]
)
def test_costs_that_are_no_durations_or_lack_that_of_one_token_are_refused(wrong):
    with pytest.raises(ValueError, match="evaluation times"):
        Costs(wrong, {})
    if wrong:
        with pytest.raises(ValueError, match="evaluation times"):
            Costs(MEASURED, wrong)


def test_without_a_draft_a_step_costs_infinity():
    costs = Costs(MEASURED, {})
    costs.draft.observe(1, 0.02)
    assert costs.draft(1) == inf


@pytest.mark.parametrize("before", [0, ROUNDS])
def test_four_slow_evaluations_in_a_row_change_next_to_nothing(before):
    costs, random = Costs(MEASURED, {}), Random(1)
    for _ in range(before):
        costs.verify.observe(4, MEASURED[4] * random.uniform(0.99, 1.01))
    for _ in range(ROUNDS // 2):
        costs.verify.observe(4, MEASURED[4] * 20)
    assert all(costs.verify(n) == pytest.approx(MEASURED[n], rel=0.02) for n in MEASURED)


@pytest.mark.parametrize("times", [0.6, 1.5, 4.0])
def test_a_lasting_change_of_one_width_is_followed_by_all_and_by_the_draft(times):
    costs = Costs(MEASURED, MEASURED)
    for _ in range(FEW):
        costs.verify.observe(1, MEASURED[1] * times)
    assert drift(costs, 1, times) == pytest.approx(1)
    assert drift(costs, 4, times) == pytest.approx(1)
    assert costs.draft(1) == pytest.approx(MEASURED[1] * times)


BUSY = {"all": (2, 2, 2), "barriers": (1.5, 2, 4), "rows": (1.2, 2.5, 2), "draft": (1, 1, 4)}
"""How much longer one token, a batch and a step of the draft take while others are busy."""


@pytest.mark.parametrize("busy", BUSY.values(), ids=list(BUSY))
def test_costs_measured_on_a_busy_machine_recover_after_a_few_calm_rounds(busy):
    """Half the machine is taken for a minute; then only plain evaluations are seen."""
    one, batch, step = busy
    costs = Costs(MEASURED, MEASURED)
    for _ in range(100):
        costs.verify.observe(1, one * MEASURED[1])
        costs.verify.observe(8, batch * MEASURED[8])
        costs.draft.observe(1, step * MEASURED[1])
    assert costs.verify(8) == pytest.approx(batch * MEASURED[8])
    assert costs.draft(1) == pytest.approx(step * MEASURED[1])
    for _ in range(STALE):
        costs.verify.observe(1, MEASURED[1])
    assert {n: costs.verify(n) for n in MEASURED} == pytest.approx(MEASURED)
    assert costs.draft(1) == pytest.approx(MEASURED[1])


def test_a_width_that_was_measured_wrongly_is_fixed_alone():
    costs = Costs(MEASURED, {})
    for _ in range(ROUNDS):
        for width in (1, 2, 4, 8):
            costs.verify.observe(width, MEASURED[width] * (1.3 if width == 8 else 1.0))
    assert drift(costs, 8, 1.3) > 0.8
    assert all(costs.verify(n) == pytest.approx(MEASURED[n], rel=0.03) for n in (1, 2, 4))
    assert costs.verify(16) == pytest.approx(MEASURED[16], rel=0.08)


@pytest.mark.parametrize("nonsense", [0.0, -1.0, nan, inf])
def test_impossible_durations_are_ignored(nonsense):
    costs = Costs(MEASURED, MEASURED)
    for _ in range(ROUNDS):
        costs.verify.observe(1, nonsense)
        costs.draft.observe(1, nonsense)
    assert costs.verify(1) == costs.draft(1) == MEASURED[1]


def test_the_costs_of_the_draft_change_nothing_of_the_targets():
    costs = Costs(MEASURED, MEASURED)
    for _ in range(ROUNDS):
        costs.draft.observe(1, 1.0)
    assert costs.verify(1) == MEASURED[1]
    assert costs.draft(1) > 0.8


def test_a_calm_machine_is_recognised_also_at_widths_that_were_observed_once():
    """Measured beside others: one of these evaluations takes a seventh of that now."""
    known = Costs({1: 7.0, 2: 8.4, 4: 12.2}, {})
    known.verify.observe(2, 1.2)
    for _ in range(14):
        known.verify.observe(1, 1.0)
    assert [known.verify(n) for n in (2, 4)] == pytest.approx([1.2, 1.74], rel=0.1)


def test_one_draft_step_of_minutes_does_not_end_speculation():
    """As while a laptop sleeps: what was lost was lost once, and the next step is risked again."""
    costs = Costs(MEASURED, MEASURED)
    costs.draft.observe(1, 300.0)
    assert costs.draft.safety(1) * costs.draft(1) < 10 * MEASURED[1]
