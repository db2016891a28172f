"""`ThroughputPlan`: which offers it takes, and how many of their tokens."""

from functools import partial

import pytest

from assistant.decoding.lookahead.acceptance import Acceptance
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.plans import ThroughputPlan
from assistant.decoding.sources.draft import Rows, Run
from tests.assistant.decoding.lookahead.machines import FLAT, STAIRS, STEEP, costs


class Known(Acceptance):
    """Acceptances that are given."""

    def __init__(self, **sources: float) -> None:
        self._known = sources

    def estimate(self, source, bucket):
        return self._known[source] if bucket else 0.0

    def optimistic(self, source):
        return self._known[source]


def weighing(machine, budget=31, draft=1.0, **settings):
    sources = {"suffix": 0.8, "model": 0.8, **settings.pop("acceptance", {})}
    return ThroughputPlan(costs(machine, draft), Known(**sources), budget, **settings)


def run(length: int, bucket: int = 5) -> Run:
    return Run("suffix", tuple(range(length)), (bucket,) * length)


def test_a_dear_width_is_passed_for_a_cheaper_one_after_it():
    """From width 1 to 3 nothing pays here; at 4 three likely tokens come for 0.9."""
    plan = weighing({1: 1.0, 2: 1.9, 3: 2.8, 4: 2.0, 5: 3.0, 8: 6.0})
    assert len(plan.next([run(31)]).tokens) == 3


def test_the_offer_with_more_expected_tokens_per_second_is_taken():
    assert isinstance(weighing(FLAT, acceptance={"model": 0.2}).next([run(8), Rows("model")]), Run)
    poor = weighing(FLAT, acceptance={"suffix": 0.1, "model": 0.95})
    assert poor.next([run(8), Rows("model")]) == Rows("model")


def test_a_proposal_is_weighed_by_the_chance_that_those_before_it_survive():
    """The eighth token of a chain survives too seldom, although each by itself is likely."""
    plan = weighing(STAIRS, acceptance={"model": 0.7}, draft=2)
    count = 0
    while plan.next([Rows("model")]) and plan.include(Rows("model"), 5):
        count += 1
    assert 0 < count < 8
    assert plan.prospect.tokens == pytest.approx(sum(0.7**i for i in range(count + 1)))


def test_a_row_of_a_poor_bucket_ends_the_draft_before_a_token_is_drawn():
    plan = weighing(FLAT)
    assert plan.next([Rows("model")])
    assert not plan.include(Rows("model"), 0)
    assert (plan.prospect.proposed, plan.reads) == (0, [1])


def test_an_offer_that_does_not_pay_or_must_read_much_first_is_not_taken():
    assert weighing(STEEP).next([run(8), Rows("model")]) is None
    assert weighing(FLAT, acceptance={"suffix": 0.0}).next([run(8)]) is None
    assert weighing(FLAT).next([Rows("model", 65)]) is None
    assert weighing(FLAT).next([Rows("model", 2)])


def test_a_lookahead_that_the_user_demands_is_proposed_even_at_a_loss():
    plan = weighing(STEEP, min_proposals=1, acceptance={"suffix": 0.01})
    assert len(plan.next([run(8)]).tokens) == 1
    assert plan.next([run(8)]) is None
    assert weighing(STEEP, min_proposals=1).next([]) is None
    plan = weighing(STEEP, min_proposals=1)
    assert plan.next([Rows("model")])
    assert plan.include(Rows("model"), 0)


def test_proposals_never_exceed_the_budget():
    plan = weighing(FLAT, budget=7, acceptance={"suffix": 0.99})
    assert len(plan.next([run(7)]).tokens) == 7
    assert plan.budget == 0


def settled(machine) -> Costs:
    """Return costs that were seen to be what was measured, again and again."""
    known = costs(machine)
    for width in (2, 4, 8, 16, 32) * 5:
        known.verify.observe(width, known.verify(width))
        known.draft.observe(1, known.draft(1))
    return known


def test_a_round_stakes_no_more_than_its_limit():
    plan = partial(ThroughputPlan, settled(FLAT), Known(suffix=0.99, model=0.8), 31)
    # A verify width of 8 takes 0.2 longer than 1.
    assert plan(limit_s=1.21).next([run(31)]) == run(31).first(7)
    assert plan(limit_s=1.05).next([Rows("model")]) is None
    assert plan(limit_s=1.21).next([Rows("model")]) == Rows("model")


def test_little_is_staked_on_costs_that_no_round_has_confirmed():
    unseen = weighing(FLAT, limit_s=1.2, acceptance={"suffix": 0.99})
    assert 0 < len(unseen.next([run(31)]).tokens) < 7
    assert weighing(FLAT, limit_s=1.2).next([Rows("model", 1)]) is None


def test_no_further_row_is_drafted_once_the_limit_of_the_round_is_spent():
    now = [0.0]
    known, model = settled(FLAT), Known(model=0.99)
    plan = ThroughputPlan(known, model, 31, limit_s=3.0, clock=lambda: now[0])
    for took, goes_on in ((0.1, True), (0.1, True), (2.0, False)):
        assert plan.next([Rows("model", 1)])
        now[0] += took
        assert plan.include(Rows("model", 1), 5) is goes_on


@pytest.mark.parametrize("machine", [STEEP, FLAT])
def test_only_a_certain_token_that_pays_is_proposed_when_no_more_time_may_be_lost(machine):
    fixed = Run("form", (1, 2, 3, 4), (1, 1, 1, 0), certain=3)
    spent = weighing(machine, acceptance={"form": 0.9}, is_spent=True, limit_s=1.0)
    assert spent.next([run(4), fixed, Rows("model", 1)]) == fixed.first(3)
    assert spent.next([run(4), Rows("model", 1)]) is None
    assert spent.runs == (run(4), fixed)
    assert weighing({1: 1.0, 2: 2.1}, acceptance={"form": 0.9}).next([fixed.first(1)]) is None
