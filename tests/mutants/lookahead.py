"""Mutants of what may be lost, and of how wide a batch is."""

from functools import partial

from assistant.decoding.lookahead.budget import Budget
from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.cost_curve import Curve
from assistant.decoding.lookahead.throughput_plan import ThroughputPlan
from models.native.model import NativeModel
from tests.assistant.decoding.lookahead import test_budget as budgets
from tests.assistant.decoding.lookahead import test_controller as controllers
from tests.assistant.decoding.lookahead.machines import FLAT
from tests.assistant.engine import test_filled_rounds as filled
from tests.models import test_llama_fillers as fillers
from tests.mutants.mutant import Mutant

BOOKED = filled.test_a_batch_that_is_faster_when_full_is_filled_and_booked_as_wide_as_it_was

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
        "the cost of a filled batch is booked on the width that was asked for",
        Controller._compare,
        "answers + proposed + others",
        "answers + proposed",
        partial(BOOKED, 1, 2, 3, 4),
    ),
    Mutant(
        "fillers stay in the cache",
        NativeModel.logits,
        "self._context.truncate(len(tokens))",
        "pass",
        partial(fillers.test_the_rows_and_the_cache_are_as_without_fillers, kind="llama"),
    ),
    Mutant(
        "fillers stay in the cache of several texts",
        NativeModel._rows_of,
        "self._context.truncate(len(tokens), last)",
        "pass",
        fillers.test_texts_side_by_side_are_as_without_fillers,
    ),
    Mutant(
        "what has to be evaluated again costs nothing",
        ThroughputPlan._repeat_s,
        "not self._beside.repeats",
        "self._beside.repeats",
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
