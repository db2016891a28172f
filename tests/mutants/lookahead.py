"""Mutants of what may be lost."""

from functools import partial

from assistant.decoding.lookahead.budget import Budget
from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.cost_curve import Curve
from assistant.decoding.lookahead.throughput_plan import ThroughputPlan
from tests.assistant.decoding.lookahead import test_budget as budgets
from tests.assistant.decoding.lookahead import test_controller as controllers
from tests.assistant.decoding.lookahead.machines import FLAT
from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "what the draft reads is not owed",
        Controller.read,
        "self._spend(seconds, self._costs.draft(tokens), 0)",
        "self._budget.rest(0, self._token_s)",
        controllers.test_what_the_draft_reads_is_owed,
    ),
    Mutant(
        "a round that the machine sped up counts as a gain",
        Controller._spend,
        "owed_s = expected_s if is_surprise else seconds",
        "owed_s = seconds",
        controllers.test_a_round_that_was_much_faster_than_expected_is_no_gain,
    ),
    Mutant(
        "a round may stake what it likes",
        Controller.plan,
        "(1 + left) * self._costs.verify(1)",
        "inf",
        controllers.test_no_round_stakes_more_than_may_be_lost_yet,
    ),
    Mutant(
        "what was lost is forgotten once it is settled",
        Budget._settle,
        "self._settled += seconds / token_s - tokens",
        "self._settled += 0.0",
        budgets.test_a_debt_beyond_the_allowance_makes_it_pause_until_the_answer_is_long_enough,
    ),
    Mutant(
        "what was evaluated again is not booked",
        Controller._compare,
        "1 + proposed + again",
        "1 + proposed",
        controllers.test_an_evaluation_is_booked_at_the_width_it_had_with_what_was_evaluated_again,
    ),
    Mutant(
        "what has to be evaluated again costs nothing",
        ThroughputPlan._repeat_s,
        "not self._repeats",
        "self._repeats",
        partial(
            controllers.test_what_has_to_be_evaluated_again_is_weighed_and_never_lost_on,
            chance=0.9,
            machine=FLAT,
        ),
    ),
    Mutant(
        "what attention takes is not learnt",
        Curve._learn_attention,
        "len(fresh) < 2",
        "len(fresh) < 99",
        controllers.test_in_a_long_conversation_decisions_change_with_depth,
    ),
)
