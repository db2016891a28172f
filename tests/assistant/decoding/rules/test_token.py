"""The token rule's edge cases; its law is enumerated in `test_exactness`."""

from fractions import Fraction

import pytest

from assistant.decoding.row import one_hot
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.rule import TokenRule
from tests.assistant.decoding.rules.fixed_uniforms import FixedUniforms, draft_of
from tests.exact.exact_rows import row_of

HALF = Fraction(1, 2)


def test_token_the_target_forbids_is_never_accepted_even_when_the_uniform_is_0():
    target, draft = row_of([1, 0]), row_of([HALF, HALF])
    verdict = TokenRule(FixedUniforms(0)).verify(draft_of((1,), (draft,)), (target, target), 0)
    assert verdict.accepted == 0
    assert list(verdict.row.ids) == [0]


@pytest.mark.parametrize("rule", [TokenRule, BlockRule])
def test_token_that_the_draft_could_not_draw_is_accepted_if_the_target_allows_it(rule):
    target, draft = row_of([1, 0]), row_of([0, 1])
    assert (
        rule(FixedUniforms(0.9)).verify(draft_of((0,), (draft,)), (target, target), 0).accepted == 1
    )


def test_rows_are_read_only_up_to_the_first_rejection():
    target, draft = row_of([1, 0]), row_of([0, 1])

    def rows():
        yield target
        raise AssertionError("read too far")

    rule = TokenRule(FixedUniforms(0.5))
    assert rule.verify(draft_of((1, 1), (draft, draft)), rows(), 0).accepted == 0


@pytest.mark.parametrize(
    "rule", [TokenRule(FixedUniforms(0)), BlockRule(FixedUniforms(0)), CoupledRule(1)]
)
def test_missing_rows_are_refused(rule):
    row = one_hot(0)
    with pytest.raises(ValueError, match="need 2 rows"):
        rule.verify(draft_of((0,), (row,)), (row,), 0)
