"""`Controller` on simulated machines: it finds what pays, loses little, and gives its reasons."""

from statistics import fmean

import pytest

from assistant.decoding.lookahead.budget import ALLOWANCE, CAUTIOUS_ALLOWANCE, CAUTIOUS_SHARE, SHARE
from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.forecast import Reason
from assistant.decoding.lookahead.plans import FixedPlan
from assistant.decoding.sources.draft import Rows, Run
from assistant.decoding.sources.model import PrefillOption, restart_options
from tests.assistant.decoding.lookahead.machines import (
    FLAT,
    STAIRS,
    STEEP,
    Text,
    costs,
    decode,
    judged,
)

ALWAYS = 0.95


def decoded(machine, text, draft=1.0, rounds=600):
    return decode(Controller(costs(machine, draft)), text, costs(machine, draft), rounds)


@pytest.mark.parametrize(
    ("text", "proposed", "speedup"),
    [
        (Text(copied=lambda i: ALWAYS), 20, 6),
        (Text(modelled=lambda i: 0.9), 4, 2),
        (Text(copied=lambda i: ALWAYS if i % 2 else None, modelled=lambda i: 0.9), 4, 3),
    ],
    ids=["copies", "a cheap draft", "a draft where no copy is offered"],
)
def test_where_batches_are_cheap_many_tokens_are_proposed(text, proposed, speedup):
    outcome = decoded(FLAT, text)
    assert fmean(outcome.proposed[100:]) > proposed
    assert outcome.speedup > speedup
    assert outcome.reads > 300 or not text.modelled(0)


def test_the_width_is_at_an_edge_of_a_stepped_cost_curve():
    outcome = decoded(STAIRS, Text(copied=lambda i: 0.8))
    usual = max(set(outcome.proposed[300:]), key=outcome.proposed[300:].count)
    assert usual + 1 in (4, 16)
    assert outcome.speedup > 1.3


def test_copies_that_are_never_accepted_are_given_up_at_little_cost():
    outcome = decoded(STAIRS, Text(copied=lambda i: 0.0))
    assert sum(outcome.proposed[100:]) == 0
    assert outcome.seconds <= outcome.ars_s * (1 + SHARE) + 1.2 * ALLOWANCE


def test_copies_that_become_good_are_proposed_again_without_a_trial():
    outcome = decoded(STAIRS, Text(copied=lambda i: 0.0 if i < 300 else ALWAYS))
    assert sum(outcome.proposed[150:300]) == 0
    assert sum(1 for k in outcome.proposed[400:] if k >= 3) > 160


def test_a_draft_that_does_not_pay_is_used_seldom():
    outcome = decoded(STEEP, Text(modelled=lambda i: 0.3), draft=4)
    assert outcome.reads < 0.05 * len(outcome.proposed)
    assert outcome.speedup > 1 / (1 + SHARE) - 0.01


def test_a_draft_that_begins_to_pay_is_used_again():
    outcome = decoded(FLAT, Text(modelled=lambda i: 0.0 if i < 500 else ALWAYS), rounds=1000)
    assert sum(1 for k in outcome.proposed[200:500] if k == 0) > 240
    assert sum(1 for k in outcome.proposed[-200:] if k) > 120


def test_no_round_stakes_more_than_the_budget_of_the_answer_so_far():
    """At first the budget is too small for the cheap width of 32, which costs 8.5."""
    dear = {1: 1.0, 2: 1.5, 4: 2.5, 8: 8.0, 32: 8.5}
    outcome = decoded(dear, Text(copied=lambda i: 0.98, bucket=7), rounds=200)
    prices = [costs(dear).verify(1 + k) for k in outcome.proposed]
    assert 1 < max(prices[:12]) <= 1 + ALLOWANCE * (1 + 12 * SHARE)
    assert max(prices) > 1 + ALLOWANCE


def test_little_is_staked_until_the_target_is_confident():
    """A hopeless draft costs a short answer in which the target hesitates next to nothing."""
    lost = {}
    for sure in (2, 9):
        outcome = decoded(STAIRS, Text(modelled=lambda i: 0.0, margin=sure), draft=2, rounds=16)
        lost[sure] = outcome.seconds - outcome.ars_s
    assert lost[2] < CAUTIOUS_ALLOWANCE + 16 * CAUTIOUS_SHARE + 0.2 < 2 < lost[9]


def test_the_gain_of_one_answer_pays_for_no_loss_in_the_next():
    machine = Text(copied=lambda i: ALWAYS)
    known, real = Controller(costs(STAIRS)), costs(STAIRS)
    assert decode(known, machine, real, rounds=1000).speedup > 1.5
    known.begin()
    short = decode(known, Text(copied=lambda i: 0.0), real, rounds=60)
    assert short.seconds <= short.ars_s * (1 + SHARE) + 1.2 * ALLOWANCE
    assert sum(short.proposed[12:]) == 0


def test_the_acceptance_in_a_new_text_is_learnt_fast():
    machine = Text(copied=lambda i: ALWAYS)
    known, real = Controller(costs(STAIRS)), costs(STAIRS)
    tried = {}
    for begins in (True, False):
        decode(known, machine, real, rounds=500)
        if begins:
            known.begin()
        worse = decode(known, Text(copied=lambda i: 0.2), real, rounds=100)
        tried[begins] = sum(1 for k in worse.proposed if k)
    assert tried[True] < tried[False]


def reading(known, context=100, more=200):
    """Return the prefill that the controller chooses for a text that the draft has not read."""
    return known.next_prefill([PrefillOption(context, context), *restart_options(context)], more)


def test_the_speed_of_other_answers_does_not_prevent_a_prefill_for_this_one():
    known = Controller(costs(FLAT))
    decode(known, Text(copied=lambda i: ALWAYS), costs(FLAT), rounds=600)
    assert reading(known) is None  # copies do as well here
    known.begin()
    decode(known, Text(), costs(FLAT), rounds=20)
    assert reading(known)


def test_a_draft_whose_prefill_is_too_dear_starts_with_the_end_of_the_text():
    known, waited = Controller(costs(FLAT, 2.0)), 0
    while not (chosen := reading(known, context=300)) and waited < 100:
        decode(known, Text(), costs(FLAT), rounds=1)
        waited += 1
    assert chosen
    assert waited == chosen.context == chosen.pending == 16


def test_the_time_that_a_draft_has_saved_pays_for_longer_prefills():
    known, lengths = Controller(costs(FLAT, 2.0)), []
    decode(known, Text(), costs(FLAT, 2.0), rounds=20)
    for _ in range(12):
        if chosen := reading(known, context=300):
            known.observe_prefill(chosen.pending, costs(FLAT, 2.0).draft(chosen.pending))
            lengths.append(chosen.pending)
        decode(known, Text(modelled=lambda i: 0.8), costs(FLAT, 2.0), rounds=5)
    assert lengths[0] == 16
    assert max(lengths) == 300


def test_the_prefill_of_the_draft_is_owed():
    known = Controller(costs(FLAT))
    decode(known, Text(), costs(FLAT), rounds=20)
    assert reading(known)
    known.observe_prefill(64, ALLOWANCE + 20 * SHARE)
    assert not reading(known)
    assert known.plan(31).is_spent


@pytest.mark.parametrize("dearer", [0.5, 1.0, 2.0, 3.0, 4.5, 6.0, 9.0])
@pytest.mark.parametrize("context", [20, 60, 200])
def test_a_prefill_of_the_draft_begins_only_if_it_can_end_with_a_proposal(dearer, context):
    real = costs(FLAT, dearer)
    known, pending, read = Controller(costs(FLAT, dearer)), context, 0
    decode(known, Text(), costs(FLAT), rounds=8)
    while chosen := known.next_prefill([PrefillOption(context, pending)], 200):
        assert chosen.chunk
        known.observe_prefill(chosen.chunk, real.draft(chosen.chunk))
        pending, read = pending - chosen.chunk, read + chosen.chunk
    assert pending in (0, 1, context)
    if read:
        assert known.plan(31).next([Rows("model", 1 + pending)])


def test_the_time_of_a_busy_machine_is_not_owed_on_a_calm_one():
    busy = Costs({1: 7.0, 2: 8.4, 4: 12.2, 8: 20.0}, {})
    calm = Costs({1: 1.0, 2: 1.2, 4: 1.75, 8: 2.9}, {})
    assert decode(Controller(busy), Text(copied=lambda i: 0.9), calm, rounds=60).speedup > 1.3


def test_a_round_that_was_much_faster_than_expected_is_no_gain():
    """The machine has become faster, and ArS with it."""
    real, limits = costs(STAIRS), list[float]()
    for faster in (1, 3):
        decode(known := Controller(costs(STAIRS)), Text(), real, rounds=10)
        known.observe_prefill(128, real.draft(128) / faster)
        limits.append(known.plan(31).limit_s)
    assert limits[0] == pytest.approx(limits[1], rel=0.05)


@pytest.mark.parametrize("slower", [0.5, 0.8, 1.0, 1.25, 2.0])
def test_proposals_alone_forecast_a_speedup_however_the_machine_changes(slower):
    """The pace of plain rounds on another machine is no gain of proposals."""
    controller = Controller(costs(FLAT))
    real = Costs({width: slower * seconds for width, seconds in FLAT.items()}, {})
    for rounds in (1, 1, 2, 4, 8, 40):
        assert not any(decode(controller, Text(), real, rounds).proposed)
        plan = controller.plan(31)
        assert (plan.next([]), controller.forecast(plan).speedup) == (None, None)
    decode(controller, Text(copied=lambda i: 0.9), real, 50)
    plan = controller.plan(31)
    assert plan.next([Run("suffix", (0,) * 8, (5,) * 8)])
    assert (controller.forecast(plan).speedup or 0) > 1


def test_the_forecast_of_a_pause_has_cost_and_acceptance_of_a_proposal():
    controller = Controller(costs(STEEP, draft=4))
    decode(controller, Text(modelled=lambda i: 0.4), costs(STEEP, draft=4), rounds=50)
    forecast = controller.forecast(FixedPlan(0, Reason.UNLIKELY))
    assert forecast.cost == pytest.approx(0.4 + 12.5 / 15, abs=0.1)
    assert 0 < (forecast.right or 0) < 1 < (forecast.cost or 0)


@pytest.mark.parametrize("chance", [0.0, 0.3, 0.6, 0.9, 0.98])
@pytest.mark.parametrize("machine", [FLAT, STEEP, STAIRS], ids=["flat", "steep", "stairs"])
def test_where_a_rejection_repeats_evaluations_speculation_never_loses_time(machine, chance):
    real = Costs(machine, {})
    text = Text(copied=lambda i: chance)
    outcome = decode(Controller(Costs(machine, {})), text, real, 300, repeats=True)
    assert outcome.speedup > 0.99
    if machine is FLAT and chance >= 0.6:
        assert outcome.speedup > (1.7 if chance == 0.6 else 4.0)
    if machine is STEEP and chance <= 0.6:
        assert sum(outcome.proposed) < 0.1 * 300


def test_the_cost_of_an_evaluation_counts_the_recomputed_tokens_in_its_width():
    known = costs(STEEP)
    controller, real = Controller(known), Costs(STEEP, {})
    for _ in range(20):
        plan, round_ = controller.plan(0), judged([], [], Text(), 0)
        controller.observe(round_, plan, real.verify(4), recomputed=3)
    assert known.verify(1) == pytest.approx(real.verify(1))
