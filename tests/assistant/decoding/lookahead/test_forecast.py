"""What the controller expects of speculation, as it is told beside each round."""

import pytest

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.policy import Fixed
from assistant.decoding.sources.draft import Run
from assistant.events import Reason
from tests.assistant.decoding.lookahead.machines import FLAT, STAIRS, STEEP, Text, costs, decode


@pytest.mark.parametrize("slower", [0.5, 0.8, 1.0, 1.25, 2.0])
def test_rounds_that_propose_nothing_promise_nothing_however_the_machine_changes(slower):
    """Their pace on a machine that had become slower was taken for what guessing would gain."""
    controller = Controller(costs(FLAT))
    real = Costs({width: slower * seconds for width, seconds in FLAT.items()}, {})
    for rounds in (1, 1, 2, 4, 8, 40):
        assert not any(decode(controller, Text(), real, rounds).proposed)
        plan = controller.plan(31)
        assert plan.next([]) is None
        assert controller.forecast(Reason.UNLIKELY, plan).speedup is None


@pytest.mark.parametrize("slower", [0.5, 1.0, 2.0])
def test_guesses_that_are_taken_promise_to_gain_however_the_machine_changes(slower):
    controller = Controller(costs(FLAT))
    real = Costs({width: slower * seconds for width, seconds in FLAT.items()}, {})
    decode(controller, Text(copied=lambda i: 0.9), real, 50)
    plan = controller.plan(31)
    assert plan.next([Run("suffix", (0,) * 8, (5,) * 8)])
    assert controller.forecast(Reason.LIKELY, plan).speedup > 1


def test_what_a_guess_costs_and_how_often_it_is_right_explains_that_none_is_made():
    controller = Controller(costs(STEEP, draft=4))
    text = Text(modelled=lambda i: 0.4)
    decode(controller, text, costs(STEEP, draft=4), rounds=50)
    forecast = controller.forecast(Reason.UNLIKELY, Fixed(0))
    assert forecast.cost == pytest.approx(0.4 + 12.5 / 15, abs=0.1)
    assert 0 < forecast.right < 1 < forecast.cost


def test_without_a_draft_model_only_the_place_in_the_batch_is_counted():
    forecast = Controller(Costs(STAIRS, {})).forecast(Reason.UNLIKELY, Fixed(0))
    assert forecast.right is None
    assert forecast.cost == pytest.approx((STAIRS[16] - 1) / 15)


def test_an_answer_in_which_the_person_decides_promises_nothing():
    controller = Controller(costs(FLAT))
    controller.begin()
    assert controller.forecast(Reason.ARS, Fixed(0)).speedup is None
