"""`speculative_round` reports uniforms, thresholds and origins as its rule computed them."""

from fractions import Fraction

import numpy as np
import pytest

from assistant.decoding.lookahead.plans import FixedPlan
from assistant.decoding.loops import speculative_round
from assistant.decoding.row import Row, one_hot
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.rule import TokenRule
from assistant.events import Origin
from tests.assistant.decoding.rules.fixed_uniforms import FixedUniforms, draft_of
from tests.assistant.engine.counting_target import CountingTarget
from tests.exact.exact_rows import row_of

HALF = Fraction(1, 2)
EVEN, LEANING = row_of([HALF, HALF]), row_of([HALF / 2, 3 * HALF / 2])


class Written(CountingTarget):
    """A drafter whose draft is given, and a target whose logits are the numbers of its rows."""

    def __init__(self, draft):
        self._draft = draft

    def propose(self, *_):
        return self._draft

    def logits(self, tokens, rows=1):
        return np.arange(rows, dtype=np.float32)


def committed(rule, draft, *rows):
    """Return the round that comes of a draft where the target has `rows`."""
    written, plan = Written(draft), FixedPlan(3)
    return speculative_round(written, written, [], plan, lambda i, _: rows[int(i)], rule)[0]


def test_the_block_rule_reports_the_threshold_of_each_prefix_that_it_tested():
    draft = draft_of((0, 0, 1), (EVEN, EVEN, EVEN))
    # Uniforms from the longest on, and one for the token after what is kept.
    round_ = committed(BlockRule(FixedUniforms(0.9, 0.9, 0.9, 0.5)), draft, *[LEANING] * 4)
    assert round_.accepted == 0
    assert [each.uniform for each in round_.rejected] == [0.9, 0.9, 0.9]
    assert [each.threshold for each in round_.rejected] == [0, 0, Fraction(3, 8)]
    assert all(each.target_row is LEANING for each in round_.rejected)
    assert round_.tokens[-1].origin is Origin.RESIDUAL


def test_a_token_accepted_with_its_successor_has_no_uniform():
    draft = draft_of((0, 0), (EVEN, EVEN))
    certain = row_of([1, 0])
    rule = BlockRule(FixedUniforms(0.9, 0.0))
    first, second, _ = committed(rule, draft, LEANING, certain, certain).tokens
    assert (first.uniform, first.threshold) == (None, 1)
    assert (second.uniform, second.threshold) == (0.9, 1)


def test_a_forbidden_token_has_no_uniform_and_those_after_it_no_target_row():
    draft = draft_of((1, 0), (EVEN, EVEN))
    certain = row_of([1, 0])
    forbidden, behind = committed(BlockRule(FixedUniforms(0.0)), draft, *[certain] * 3).rejected
    assert (forbidden.target_row, forbidden.uniform, forbidden.threshold) == (certain, None, 0)
    assert (behind.target_row, behind.uniform, behind.threshold) == (None, None, None)


def test_the_token_rule_reports_uniforms_and_no_thresholds():
    draft = draft_of((1, 0, 0), (EVEN, EVEN, EVEN))
    round_ = committed(TokenRule(FixedUniforms(0.9, 0.9, 0.0)), draft, *[LEANING] * 4)
    first, second = round_.rejected
    assert [(each.uniform, each.threshold) for each in round_.tokens] == [(0.9, None)] * 2
    assert (first.uniform, first.threshold, first.target_row) == (0.9, None, LEANING)
    assert (second.uniform, second.threshold, second.target_row) == (None, None, None)
    assert round_.tokens[-1].origin is Origin.RESIDUAL


def test_with_a_seed_a_rejected_proposal_is_replaced_from_the_targets_row():
    rule, target = CoupledRule(1), Row(np.arange(4), np.full(4, 0.25))
    own = rule.draw(target, 0)
    wrong = (own + 1) % 4
    round_ = committed(rule, draft_of((wrong, 0), (target, target)), *[target] * 3)
    (token,) = round_.tokens
    assert (token.id, token.origin, token.uniform) == (own, Origin.TARGET, None)
    assert [each.proposal.token for each in round_.rejected] == [wrong, 0]
    assert [each.target_row for each in round_.rejected] == [target, None]


@pytest.mark.parametrize("accepted", range(3))
def test_only_the_first_rejected_proposal_counts_as_tested(accepted):
    tokens = [0] * accepted + [1] * (2 - accepted)
    draft = draft_of(tokens, [one_hot(token) for token in tokens])
    round_ = committed(CoupledRule(1), draft, *[one_hot(0)] * 3)
    assert (round_.accepted, round_.proposed) == (accepted, 2)
    assert round_.tested == min(accepted + 1, 2)
