"""Mutants of the verification rules."""

from functools import partial

from assistant.decoding.rules import block, residual, token
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.noise import Noise
from assistant.decoding.rules.token import TokenRule
from tests.assistant.decoding.rules import test_block as blocks
from tests.assistant.decoding.rules import test_coupled as coupled
from tests.assistant.decoding.rules import test_noise as noise
from tests.assistant.decoding.rules import test_token as tokens
from tests.exact import test_enumeration as enumeration
from tests.exact import test_exactness as exact
from tests.exact import toy_sources
from tests.exact.exact_rows import keep_all
from tests.mutants.mutant import Mutant

ROUND = exact.test_a_round_has_the_law_of_the_target_whatever_the_draft_is
SOURCES = exact.test_a_draft_may_come_from_any_source_and_end_anywhere
plain_round = partial(ROUND, TokenRule, ("full", "full"))
block_round = partial(ROUND, BlockRule, ("full", "full"))
discarded_proposals = partial(SOURCES, TokenRule, toy_sources.DiscardsUnlikely, 1)
discarded_of_a_block = partial(SOURCES, BlockRule, toy_sources.DiscardsUnlikely, 2)
sharp_rows = partial(
    exact.test_rare_and_nearly_certain_tokens_have_the_law_of_the_target, TokenRule
)
sharp_blocks = partial(
    exact.test_rare_and_nearly_certain_tokens_have_the_law_of_the_target, BlockRule
)
diagonals = partial(noise.test_it_is_exponential, noise.along_diagonals.__wrapped__, 0)
enumerated_round = partial(
    enumeration.test_each_rule_has_the_law_of_the_target, enumeration.EVERY[0]
)
same_text = partial(coupled.test_sps_says_what_ars_says_whatever_the_lookahead, keep_all)

RESIDUAL_WITHOUT_TOKEN = """\
        from assistant.decoding.row import one_hot
        if accepted < len(draft.proposals):
            row = one_hot(draft.proposals[accepted].token)
        return Verdict(accepted, residual(target, row), tuple(read), tuple(drawn))"""
FROM_THE_LONGEST = """\
    for kept in range(len(shares) - 1, 0, -1):
        left = excess(_scaled(targets[kept], shares[kept]), draft.rows[kept])
        thresholds[kept - 1] = threshold = _threshold(left, shares[kept])
        uniforms[kept - 1] = uniform = self._rng.random()
        if uniform < threshold:
            break
    else:
        kept, left = 0, residual(targets[0], draft.rows[0])
"""
WHILE_THEY_PASS = """\
    kept, left = 0, residual(targets[0], draft.rows[0])
    for i in range(1, len(shares)):
        behind = excess(_scaled(targets[i], shares[i]), draft.rows[i])
        if not self._rng.random() < _threshold(behind, shares[i]):
            break
        kept, left = i, behind
"""

TOKEN_RULE = (
    Mutant("always accept", token.accepts, "return bool(", "return True or bool(", plain_round),
    Mutant(
        "accept with <=, so that a uniform of 0 accepts a forbidden token",
        token.accepts,
        ") < target",
        ") <= target",
        tokens.test_token_the_target_forbids_is_never_accepted_even_when_the_uniform_is_0,
    ),
    Mutant(
        "accept what the target is nearly certain of",
        token.accepts,
        "return bool(",
        "return bool(target.prob(token) > 0.9 or ",
        sharp_rows,
    ),
    Mutant(
        "the residual drops small differences",
        residual.excess,
        "difference > 0",
        "difference > 1 / 1000",
        sharp_rows,
    ),
    Mutant(
        "compare probabilities without the uniform",
        token.accepts,
        "uniform * draft",
        "draft",
        plain_round,
    ),
    Mutant(
        "accept what the target likes best, and nothing else",
        token.accepts,
        "uniform * draft.prob(token) < target.prob(token)",
        "token == target.ids[target.probs.argmax()]",
        enumerated_round,
    ),
    Mutant(
        "replace a rejected proposal from the target's row",
        residual.residual,
        "return left if len(left.ids) else target",
        "return target",
        plain_round,
    ),
    Mutant(
        "residual keeps the size of the difference, not its sign",
        residual.excess,
        "target.probs - draft.probs_of(target.ids)",
        "abs(target.probs - draft.probs_of(target.ids))",
        plain_round,
    ),
    Mutant(
        "residual excludes the rejected token alone",
        TokenRule.verify,
        "        return Verdict(accepted, residual(target, row), tuple(read), tuple(drawn))",
        RESIDUAL_WITHOUT_TOKEN,
        plain_round,
    ),
    Mutant(
        "ignore the last row of a draft that may have ended by chance",
        TokenRule.verify,
        "residual(target, row)",
        "target if accepted == len(draft.proposals) else residual(target, row)",
        discarded_proposals,
    ),
)

BLOCK_RULE = (
    Mutant(
        "keep beginnings only as long as each one passes",
        BlockRule.verify,
        FROM_THE_LONGEST,
        WHILE_THEY_PASS,
        block_round,
    ),
    Mutant(
        "the block's residual forgets its share",
        BlockRule.verify,
        "return Verdict(kept, left,",
        "return Verdict(kept, residual(targets[kept], draft.rows[kept]),",
        block_round,
    ),
    Mutant(
        "the threshold forgets the share of the row",
        BlockRule.verify,
        "_scaled(targets[kept], shares[kept])",
        "targets[kept]",
        block_round,
    ),
    Mutant(
        "the share itself is the threshold",
        block._threshold,
        "mass / (mass + (1 - share)) if mass",
        "share if mass",
        block_round,
    ),
    Mutant(
        "shares of single proposals, not of beginnings",
        block._shares,
        "carried(shares[-1],",
        "carried(1.0,",
        block_round,
    ),
    Mutant(
        "shares above 1",
        block.carried,
        "wanted / drawn if wanted < drawn else int(wanted > 0)",
        "wanted / drawn",
        block_round,
    ),
    Mutant(
        "accept with probability 1 what neither side could draw",
        block.carried,
        "int(wanted > 0)",
        "1.0",
        blocks.test_a_forbidden_token_is_rejected_though_the_draft_could_not_draw_it_either,
    ),
    Mutant(
        "what the target is nearly certain of costs a block no share",
        block.carried,
        "return wanted / drawn if",
        "return 1.0 if target.prob(proposal.token) > 0.9 else wanted / drawn if",
        sharp_blocks,
    ),
    Mutant(
        "one uniform for all beginnings",
        BlockRule.verify,
        "uniform = self._rng.random()",
        "uniform = next((u for u in uniforms if u is not None), None) or self._rng.random()",
        block_round,
    ),
    Mutant(
        "ignore the last row of a block that may have ended by chance",
        BlockRule.verify,
        "draft.rows[kept])\n        thresholds",
        "(*draft.rows[:-1], __import__('sys').modules['assistant.decoding.row'].EMPTY)[kept])"
        "\n        thresholds",
        discarded_of_a_block,
    ),
    Mutant(
        "test every token by itself",
        BlockRule.verify,
        "targets, shares = _shares(draft, target_rows)",
        "from assistant.decoding.rules.token import TokenRule; "
        "return TokenRule(self._rng).verify(draft, target_rows, position)",
        blocks.test_the_example_of_the_paper,
    ),
)

COUPLED_RULE = (
    Mutant(
        "the noise is the same at every position",
        Noise.exponentials,
        "np.uint64(position)",
        "np.uint64(0)",
        coupled.test_draws_along_the_positions_have_the_law_of_the_row,
    ),
    Mutant(
        "the noise is the same for every token",
        Noise.exponentials,
        "ids.astype(np.uint64) * _GOLDEN",
        "ids.astype(np.uint64) * np.uint64(0)",
        coupled.test_draws_along_the_positions_have_the_law_of_the_row,
    ),
    Mutant(
        "the noise is uniform, not exponential",
        Noise.exponentials,
        "-np.log((words + 0.5) * _BELOW)",
        "(words + 0.5) * _BELOW",
        coupled.test_draws_along_the_positions_have_the_law_of_the_row,
    ),
    Mutant(
        "every seed is the same",
        CoupledRule.__init__,
        "Noise(seed)",
        "Noise(0)",
        coupled.test_another_seed_says_something_else_and_the_same_one_the_same,
    ),
    Mutant(
        "a seed is the next one, a place further on",
        Noise.__init__,
        "_mixed(np.array([seed % 2**64], np.uint64))",
        "np.array([seed % 2**64], np.uint64)",
        diagonals,
    ),
    Mutant(
        "judge every proposal by the noise of the first",
        CoupledRule.verify,
        "position + len(read)",
        "position",
        same_text,
    ),
    Mutant(
        "draw in place of a mismatch from the residual",
        CoupledRule.verify,
        "return Verdict(len(read), target,",
        "from assistant.decoding.rules.residual import residual; "
        "return Verdict(len(read), residual(target, draft.rows[len(read)]),",
        same_text,
    ),
    Mutant(
        "the highest id wins among equals",
        CoupledRule._best,
        "np.argmax(scores)",
        "len(scores) - 1 - np.argmax(scores[::-1])",
        coupled.test_the_lowest_id_wins_among_equals,
    ),
    Mutant(
        "the noise repeats itself after a while",
        CoupledRule.draw,
        "position) for start",
        "position % 64) for start",
        coupled.test_draws_along_the_positions_have_the_law_of_the_row,
    ),
)

MUTANTS = TOKEN_RULE + BLOCK_RULE + COUPLED_RULE
