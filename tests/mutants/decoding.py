"""Mutants of drafting and of the loop, whatever the rule."""

from functools import partial

from assistant.decoding.loops import verified
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from tests.assistant.decoding import test_plans as plans
from tests.assistant.decoding.rules import test_coupled as coupled
from tests.exact import test_exact_rounds as turns
from tests.exact import test_exactness as exact
from tests.exact import toy
from tests.exact.exact_rows import keep_all
from tests.mutants.mutant import Mutant

ROUND = exact.test_a_round_has_the_law_of_the_target_whatever_the_draft_is
WARPED = exact.test_warped_rows_have_the_law_of_the_warped_target
plain_round = partial(ROUND, TokenRule, ("full", "full"))
warped_rows = partial(WARPED, TokenRule, toy.best_two)
penalised_rows = partial(WARPED, TokenRule, toy.repeats_halved)
sharp_rows = partial(
    exact.test_rare_and_nearly_certain_tokens_have_the_law_of_the_target, TokenRule
)
failing_draft = partial(
    turns.test_a_draft_that_fails_on_what_was_drawn_leaves_the_law_of_the_target, TokenRule, 0, 2, 2
)
same_text = partial(coupled.test_sps_says_what_ars_says_whatever_the_lookahead, keep_all)
whims = partial(plans.test_plans_may_depend_on_evidence_offers_and_past_rounds, TokenRule, 0)

ONE_UNIFORM_OLD = """\
    verdict = rule.verify(draft, rows, len(tokens))
    after = rule.draw(verdict.row, len(tokens) + verdict.accepted)"""
ONE_UNIFORM = """\
    from types import SimpleNamespace
    u = rule._rng.random()
    once = type(rule)(SimpleNamespace(random=lambda: u))
    verdict = once.verify(draft, rows, len(tokens))
    after = once.draw(verdict.row, len(tokens) + verdict.accepted)"""
TARGET_UNWARPED = (
    "rows = (Row(*map(__import__('numpy').array, (range(len(row)), row))) "
    "for i, row in enumerate(logits))"
)
PROPOSED = "return [Proposal(draw(row, len(context)), row, name, seen)]"
NOT_IF_RARE = """\
token = draw(row, len(context))
                return [Proposal(token, row, name, seen)] * (row.prob(token) >= 0.05)"""
NOT_IF_CONTRADICTED = """\
token = draw(row, len(context))
                runs = [offer for offer in offers if isinstance(offer, Run)]
                agreed = all(run.tokens[0] == token for run in runs)
                return [Proposal(token, row, name, seen)] * agreed"""
EVIDENCE_OF_THE_TOKEN = """\
            token = draw(row, len(context))
            if plan.include(rows, int(3 * row.prob(token))):
                return [Proposal(token, row, name, seen)]"""
INCLUDED = """\
            if plan.include(rows, seen):
                return [Proposal(draw(row, len(context)), row, name, seen)]"""
PEEKED = """\
            token = draw(row, len(context))
            if plan.include(rows, token):
                return [Proposal(token, row, name, seen)]"""

MUTANTS = (
    Mutant(
        "verify with the draft's raw row, though the draft was warped",
        Cascade._next,
        "draw(row, len(context)), row, name, seen",
        "draw(row, len(context)), self.sources[name].row(context, __import__("
        "'tests.exact.exact_rows').exact.exact_rows.keep_all)[0], name, seen",
        warped_rows,
    ),
    Mutant(
        "propose the draft's best token, but verify with its soft row",
        Cascade._next,
        "draw(row, len(context))",
        "int(row.ids[row.probs.argmax()])",
        plain_round,
    ),
    Mutant("the plan sees the token before it includes it", Cascade._next, INCLUDED, PEEKED, whims),
    Mutant(
        "the plan's no to a row is not obeyed, but hidden",
        Cascade._next,
        "return [Proposal(draw(row, len(context)), row, name, seen)]",
        "return [Proposal(t, row, name, seen) for t in [draw(row, len(context))] if t]",
        plain_round,
    ),
    Mutant(
        "a rare token is drawn and not proposed", Cascade._next, PROPOSED, NOT_IF_RARE, sharp_rows
    ),
    Mutant(
        "a drawn token is not proposed if a copy says something else",
        Cascade._next,
        PROPOSED,
        NOT_IF_CONTRADICTED,
        whims,
    ),
    Mutant(
        "the evidence for a row is how likely the drawn token was",
        Cascade._next,
        INCLUDED,
        EVIDENCE_OF_THE_TOKEN,
        whims,
    ),
    Mutant(
        "a draft that fails throws away what it proposed",
        Cascade.propose,
        "self.failure = error",
        "self.failure, proposals = error, []",
        failing_draft,
    ),
    Mutant(
        "the draft draws with the numbers of the next place",
        Cascade._next,
        "draw(row, len(context))",
        "draw(row, len(context) + 1)",
        coupled.test_a_draft_that_equals_the_target_is_always_accepted,
    ),
    Mutant(
        "the token after a draft is drawn with the numbers of the next place",
        verified,
        "len(tokens) + verdict.accepted)",
        "len(tokens) + verdict.accepted + 1)",
        same_text,
    ),
    Mutant(
        "warp the draft's side only",
        verified,
        "rows = (warp(row, context[: len(tokens) + i]) for i, row in enumerate(logits))",
        TARGET_UNWARPED,
        warped_rows,
    ),
    Mutant(
        "draw the extra token from the row before",
        verified,
        "in enumerate(logits)",
        "in enumerate([*logits[:-1], logits[-2]] if len(logits) > 1 else logits)",
        plain_round,
    ),
    Mutant(
        "judge each proposal by the row behind its own",
        verified,
        "in enumerate(logits)",
        "in enumerate([*logits[1:], logits[-1]])",
        plain_round,
    ),
    Mutant(
        "use one uniform to accept and to replace",
        verified,
        ONE_UNIFORM_OLD,
        ONE_UNIFORM,
        plain_round,
    ),
    Mutant(
        "penalties do not see the proposals of the round",
        verified,
        "context[: len(tokens) + i]",
        "tokens",
        penalised_rows,
    ),
    Mutant(
        "penalties see one proposal too many",
        verified,
        "context[: len(tokens) + i]",
        "context[: len(tokens) + i + 1]",
        penalised_rows,
    ),
    Mutant(
        "lose the last proposal that was accepted",
        verified,
        "draft.tokens[: verdict.accepted]",
        "draft.tokens[: max(0, verdict.accepted - 1)]",
        plain_round,
    ),
)
