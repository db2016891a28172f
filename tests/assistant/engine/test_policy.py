"""`Policy`: whether the user's mode or the controller decides what a round proposes."""

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.forecast import Reason
from assistant.decoding.lookahead.plans import SHORT, Prospect
from assistant.decoding.sources.draft import Run
from assistant.decoding.sources.model import PrefillOption, restart_options
from assistant.engine.control import Control
from assistant.engine.rounds import FIXED_LOOKAHEAD, Policy
from tests.assistant.decoding.lookahead.machines import FLAT, STEEP, Text, costs, decode


def policy(mode="auto", lookahead=None, machine=FLAT, draft=1.0):
    controller = Controller(costs(machine, draft)) if machine else None
    return Policy(Control(mode, lookahead), controller)


def under_way(machine=FLAT, draft=1.0):
    """Return a policy in the middle of an answer."""
    made = policy(machine=machine, draft=draft)
    decode(made.controller, Text(margin=6), costs(machine, draft), rounds=20)
    return made


def test_without_measurements_sps_proposes_a_few_and_auto_nothing():
    assert policy("sps", machine=None).plan(31).budget == FIXED_LOOKAHEAD
    assert policy("auto", machine=None).plan(31).budget == 0


def test_sps_proposes_at_least_one_token():
    assert policy("sps").plan(31).min_proposals == 1
    assert policy("auto").plan(31).min_proposals == 0


def ways(pending, context=400):
    """The ways to go on after `pending` tokens, or to begin again."""
    return [PrefillOption(context, pending), *restart_options(context)]


def test_the_draft_prefills_only_what_pays_and_what_may_be_lost():
    assert under_way().next_prefill(ways(SHORT + 1), 200)[:2] == (400, SHORT + 1)
    assert under_way().next_prefill(ways(SHORT), 200) is None  # it does that within a round
    assert under_way().next_prefill(ways(100_000), 200).pending == 16  # a little first
    assert under_way(machine=STEEP, draft=4).next_prefill(ways(SHORT + 1), 200) is None
    assert under_way().next_prefill(ways(30, context=30), 1) is None
    assert (
        policy().next_prefill(ways(SHORT + 1), 200) is None
    )  # the target is not sure of itself yet


def test_a_user_who_wants_sps_has_the_draft_read():
    assert policy("sps", machine=STEEP, draft=4).next_prefill(ways(100_000), 200).pending == 100_000
    assert policy("sps", 0).next_prefill(ways(100_000), 200) is None
    assert policy("ars").next_prefill(ways(100_000), 200) is None


def test_the_reason_distinguishes_a_likely_proposal_from_a_pause():
    plan = policy().plan(31)
    plan.next([Run("suffix", (0,) * 5, (9,) * 5)])
    assert plan.reason is Reason.LIKELY
    plan.pause = Reason.SPENT
    assert plan.reason is Reason.LIKELY  # which was certain
    plan.prospect = Prospect()
    assert plan.reason is Reason.SPENT
