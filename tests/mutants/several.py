"""Mutants of answers and their rounds: several to a request, and what may be changed meanwhile."""

from functools import partial

from assistant.decoding.rules.token import TokenRule
from assistant.engine import reply
from assistant.engine.reply import Assistant
from assistant.engine.rounds import Rounds
from tests.assistant.engine import test_assistant as single
from tests.assistant.engine import test_rounds as several
from tests.assistant.lab.prove import test_samples as proofs
from tests.mutants.mutant import Mutant

PLANNED = several.test_an_answer_that_the_controller_plans_has_the_law_of_the_target
BY_SEED = several.test_with_a_seed_each_answer_is_the_one_that_its_own_seed_gives_alone
UNSEEDED = proofs.test_a_rule_without_a_seed_has_the_law_of_the_target
ACCEPTS_ALL = "__import__('sys').modules['assistant.lab.prove.mistakes'].AcceptsAll(rng)"

DRAFTED = "return plan, self._drafter.propose(self._tokens, plan, self._warp, self._rule.draw)"
NOT_TWICE = """\
draft = self._drafter.propose(self._tokens, plan, self._warp, self._rule.draw)
    if draft.tokens[-1:] == tuple(self._tokens[-1:]):
        draft = Draft(draft.proposals[:-1])
    return plan, draft"""

MUTANTS = (
    Mutant(
        "all answers have the same seed",
        Assistant.replies,
        "request.seed + number",
        "request.seed",
        lambda tmp_path: BY_SEED(tmp_path, "ars"),
    ),
    Mutant(
        "all answers to a request have the same stream of chance",
        reply.rule_of,
        "default_rng()",
        "default_rng(id(request))",
        partial(several.test_without_a_seed_each_answer_has_chance_of_its_own, "token"),
    ),
    Mutant(
        "a draft is cut where it drew the last token again",
        Rounds._drafted,
        DRAFTED,
        NOT_TWICE,
        partial(PLANNED, TokenRule),
    ),
    Mutant(
        "a key counts in the middle of an evaluation",
        Rounds.__iter__,
        "self._policy.now()",
        "self._policy",
        several.test_a_key_that_is_pressed_within_a_round_takes_effect_in_the_next,
    ),
    Mutant(
        "a prompt counts as read to its last token, which is read again",
        Assistant.reply,
        "min(self.target.cached(prompt.tokens), len(prompt.tokens) - 1)",
        "self.target.cached(prompt.tokens)",
        single.test_of_a_prompt_that_was_read_before_only_the_last_token_is_read_again,
    ),
    Mutant(
        "the first token waits for a draft",
        Rounds._speculates,
        '"ars" and not is_first and',
        '"ars" and',
        single.test_the_first_token_waits_for_no_draft,
    ),
    Mutant(
        "a key that changes the sampling is not obeyed",
        reply.warp_of,
        "control.sampling or request.sampling",
        "request.sampling",
        several.test_a_sampling_that_a_key_changes_counts_from_the_next_row_until_it_is_taken_back,
    ),
    Mutant(
        "without a seed the token rule accepts everything",
        reply.rule_of,
        "TokenRule(rng)",
        ACCEPTS_ALL,
        partial(UNSEEDED, "token"),
    ),
    Mutant(
        "without a seed the block rule accepts everything",
        reply.rule_of,
        "BlockRule(rng)",
        ACCEPTS_ALL,
        partial(UNSEEDED, "block"),
    ),
)
