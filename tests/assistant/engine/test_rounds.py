"""`Rounds`: the user's mode or the controller decides what is proposed."""

import numpy as np
import pytest

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.forecast import Reason
from assistant.decoding.lookahead.plans import SHORT, Prospect
from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.rule import TokenRule
from assistant.decoding.sources.draft import Cascade, Run
from assistant.decoding.sources.model import PrefillOption, restart_options
from assistant.decoding.sources.suffix import SuffixSource
from assistant.engine.control import Control
from assistant.engine.reply import rule_of, warp_of
from assistant.engine.rounds import FIXED_LOOKAHEAD, Rounds
from assistant.request import Sampling
from tests.assistant.decoding.lookahead.machines import FLAT, STEEP, Text, costs, decode
from tests.assistant.engine.answering import ask
from tests.assistant.engine.counting_target import CHOSEN, CountingTarget, ModeChanger, greedy
from tests.exact.answer import planned
from tests.exact.exact_rows import keep_all
from tests.exact.law import law
from tests.exact.toy import Toy, chain_rule
from tests.exact.toy_sources import modelled

CHEAP = {1: 1.0, 4: 1.1, 8: 1.2, 16: 1.4, 32: 2.0}  # a machine where proposals cost next to nothing


@pytest.mark.parametrize("rule", [TokenRule, BlockRule])
def test_an_answer_that_the_controller_plans_has_the_law_of_the_target(rule):
    """By enumeration, without tolerance: on a simulated machine, whose clock stands still."""
    target, length, lookaheads = Toy(2, 3), 3, set[int]()

    def run(rng):
        controller = Controller(Costs(CHEAP, {1: 0.01, 8: 0.06, 512: 24.0}))
        text, drafter = [1], modelled(Toy(2, 4), 2)
        how = rule(rng), keep_all, Control(), controller
        rounds = Rounds(target, text, drafter, *how, limit=1 + length, clock=lambda: 0.0)
        lookaheads.update(each.round.proposed for each in planned(rounds))
        return tuple(text[1:][:length])

    assert law(run) == chain_rule(target, length, start=[1])
    assert max(lookaheads) > 0


def test_a_mode_that_changes_within_a_round_takes_effect_in_the_next():
    """Any order of keys: each reason is that of the round's own draft."""
    control, tokens = Control("auto"), [*range(50)] * 4
    controller, drafter = Controller(Costs(CHEAP, {})), Cascade(ModeChanger(control))
    reasons = set()
    how = CoupledRule(0), greedy, control, controller
    for round_, forecast, _ in planned(Rounds(CountingTarget(), tokens, drafter, *how)):
        assert round_.proposed in CHOSEN.get(forecast.reason, range(32)), forecast.reason
        reasons.add(forecast.reason)
        if forecast.reason is Reason.ARS:  # no source is asked, so none presses
            control.mode = "auto"
        if len(tokens) > 2000:
            break
    assert reasons > CHOSEN.keys()


def test_without_a_source_the_reason_says_so():
    rounds = Rounds(Toy(2, 3), [1], Cascade(), CoupledRule(0), greedy, Control("sps"))
    assert next(planned(rounds)).forecast.reason is Reason.NO_SOURCE


def test_a_sampling_override_applies_from_the_next_row_until_it_is_removed():
    control, logits = Control("ars"), np.arange(3, dtype=np.float32)
    warped = warp_of(ask(sampling=Sampling(1, 0, 1)), control)
    for changed, kept in ((None, 3), (Sampling(0), 1), (Sampling(1, 2, 1), 2), (None, 3)):
        control.sampling = changed
        assert len(warped(logits, []).ids) == kept


@pytest.mark.parametrize("kind", ["token", "block"])
def test_without_a_seed_two_answers_draw_different_numbers(kind):
    """Two of 128 tosses are the same in 1 of 2**128 runs."""
    coin, request = Row(np.array([0, 1]), np.array([0.5, 0.5])), ask(seed=None, rule=kind)
    rules = [rule_of(request) for _ in range(2)]
    first, second = ([rule.draw(coin, place) for place in range(128)] for rule in rules)
    assert first != second


def rounds_of(mode="auto", lookahead=None, machine=FLAT, draft=1.0, before=0, more=200):
    """Return rounds after so many others, with a source and `more` tokens to come."""
    controller = Controller(costs(machine, draft)) if machine else None
    made = Rounds(
        CountingTarget(), [1], Cascade(SuffixSource()), CoupledRule(0), greedy,
        Control(mode, lookahead), controller, answer_start=0, limit=1 + more,
    )  # fmt: skip
    if controller and before:
        decode(controller, Text(margin=6), costs(machine, draft), rounds=before)
    return made


def under_way(**how):
    """Return rounds in the middle of an answer."""
    return rounds_of(before=20, **how)


def test_sps_proposes_a_token_and_without_measurements_a_few_where_auto_may_do_nothing():
    for mode, few, least in (("sps", FIXED_LOOKAHEAD, 1), ("auto", 0, 0)):
        assert rounds_of(mode, machine=None)._plan(0).budget == few
        assert rounds_of(mode)._plan(0).min_proposals == least


def ways(pending, context=400):
    """The ways to go on after `pending` tokens, or to begin again."""
    return [PrefillOption(context, pending), *restart_options(context)]


def test_the_draft_prefills_only_what_pays_and_what_may_be_lost():
    assert under_way()._next_prefill(ways(SHORT + 1))[:2] == (400, SHORT + 1)
    assert under_way()._next_prefill(ways(SHORT)) is None  # it does that within a round
    assert under_way()._next_prefill(ways(100_000)).pending == 16  # a little first
    assert under_way(machine=STEEP, draft=4)._next_prefill(ways(SHORT + 1)) is None
    assert under_way(more=1)._next_prefill(ways(30, context=30)) is None
    # The target is not sure of itself yet.
    assert rounds_of()._next_prefill(ways(SHORT + 1)) is None


def test_a_user_who_wants_sps_has_the_draft_read():
    assert rounds_of("sps", machine=STEEP, draft=4)._next_prefill(ways(100_000)).pending == 100_000
    assert rounds_of("sps", 0)._next_prefill(ways(100_000)) is None
    assert rounds_of("ars")._next_prefill(ways(100_000)) is None


def test_the_reason_distinguishes_a_likely_proposal_from_a_pause():
    plan = rounds_of()._plan(0)
    plan.next([Run("suffix", (0,) * 5, (9,) * 5)])
    reasons = [plan.reason]
    plan.is_spent = True
    reasons.append(plan.reason)  # which was certain
    plan.prospect = Prospect()
    assert (*reasons, plan.reason) == (Reason.LIKELY, Reason.LIKELY, Reason.SPENT)


def test_a_plain_round_says_how_much_of_it_was_for_tokens_that_were_evaluated_before(monkeypatch):
    monkeypatch.setattr(CountingTarget, "rollback", 0)
    monkeypatch.setattr(CountingTarget, "cached", lambda *_: 0)
    rounds = rounds_of()
    rounds._clock = lambda: 0.0
    first, second = (rounds._round().forecast.recomputed for _ in range(2))
    assert (first, second) == (0.0, pytest.approx(1 - FLAT[1] / FLAT[2]))
