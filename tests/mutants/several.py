"""Mutants of several answers at once, and of what may be changed meanwhile."""

from functools import partial

from assistant.decoding.rules.token import TokenRule
from assistant.engine import decoding_sequence
from assistant.engine.reply import Assistant
from assistant.engine.rounds import Rounds
from tests.assistant.engine import test_assistant as single
from tests.assistant.engine import test_rounds as several
from tests.assistant.lab.prove import test_samples as proofs
from tests.mutants.mutant import Mutant

MEDDLING = several.test_two_answers_have_the_law_of_two_samples_though_one_plans_by_the_others_draft
PLANNED = several.test_two_answers_that_the_controller_plans_have_the_law_of_two_samples

UNSEEDED = proofs.test_a_rule_without_a_seed_has_the_law_of_the_target
ACCEPTS_ALL = "__import__('sys').modules['assistant.lab.prove.mistakes'].AcceptsAll(rng)"

WEIGHED = "if isinstance(plan, ThroughputPlan):"
NOT_TWICE = """\
if isinstance(plan, ThroughputPlan) and draft.tokens[-1:] == tuple(each.tokens[-1:]):
            draft = Draft(draft.proposals[:-1])
        if isinstance(plan, ThroughputPlan):"""

MUTANTS = (
    Mutant(
        "all answers have the same seed",
        decoding_sequence.rule_of,
        "request.seed + number",
        "request.seed",
        several.test_with_a_seed_the_chance_of_an_answer_is_that_of_its_number_more,
    ),
    Mutant(
        "all answers to a request have the same stream of chance",
        decoding_sequence.rule_of,
        "default_rng()",
        "default_rng(id(request))",
        partial(several.test_without_a_seed_each_answer_has_chance_of_its_own, "token"),
    ),
    Mutant(
        "an answer gets the rows of another one with as long a draft",
        Rounds._verified,
        "logits[each.number]",
        "next(rows for rows in logits.values() if len(rows) == len(draft.proposals) + 1)",
        partial(MEDDLING, TokenRule),
    ),
    Mutant(
        "a draft is cut where it drew the last token again",
        Rounds._drafts,
        WEIGHED,
        NOT_TWICE,
        partial(PLANNED, TokenRule),
    ),
    Mutant(
        "a key counts in the middle of an evaluation",
        Rounds.__iter__,
        "self._policy.now()",
        "self._policy",
        several.test_a_key_pressed_between_two_drafts_takes_effect_at_the_next_evaluation,
    ),
    Mutant(
        "the prompt leaves room for one answer of several",
        Assistant._room,
        "request.answers * (request.max_tokens or TYPICAL_ANSWER)",
        "request.max_tokens or TYPICAL_ANSWER",
        several.test_a_prompt_leaves_room_for_all_answers_up_to_a_quarter_of_the_context,
    ),
    Mutant(
        "a prompt counts as read to its last token, which is read again",
        Assistant._prepared,
        "min(self.target.cached(tokens), len(tokens) - 1)",
        "self.target.cached(tokens)",
        single.test_of_a_prompt_that_was_read_before_only_the_last_token_is_read_again,
    ),
    Mutant(
        "the first token waits for a draft",
        decoding_sequence.DecodingSequence.speculates,
        '"ars" and begun and',
        '"ars" and',
        single.test_the_first_token_waits_for_no_draft,
    ),
    Mutant(
        "a key that changes the sampling is not obeyed",
        decoding_sequence.warp_of,
        "control.sampling or request.sampling",
        "request.sampling",
        several.test_a_sampling_that_a_key_changes_counts_from_the_next_row_until_it_is_taken_back,
    ),
    Mutant(
        "without a seed the token rule accepts everything",
        decoding_sequence.rule_of,
        "TokenRule(rng)",
        ACCEPTS_ALL,
        partial(UNSEEDED, "token"),
    ),
    Mutant(
        "without a seed the block rule accepts everything",
        decoding_sequence.rule_of,
        "BlockRule(rng)",
        ACCEPTS_ALL,
        partial(UNSEEDED, "block"),
    ),
)
