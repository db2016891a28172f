"""`excess` and `residual`: the mass by which a target's row exceeds a draft's."""

from fractions import Fraction

import numpy as np

from assistant.decoding.row import EMPTY, Row
from assistant.decoding.rules.rule import excess, residual
from tests.exact.exact_rows import row_of

TARGET = Row(np.array([1, 5, 9]), np.array([0.5, 0.25, 0.25]))


def test_a_residual_holds_only_tokens_of_which_the_target_has_more():
    draft = Row(np.array([0, 1, 5]), np.array([0.25, 0.25, 0.5]))
    left = residual(TARGET, draft)
    assert list(left.ids) == [1, 9]
    assert list(left.probs) == [0.25, 0.25]


def test_the_residual_of_equal_rows_is_the_target():
    row = row_of([Fraction(1, 3), Fraction(2, 3)])
    assert len(excess(row, row).ids) == 0
    assert residual(row, row) is row


def test_without_a_proposal_the_residual_is_the_target():
    assert residual(TARGET, EMPTY) is TARGET
