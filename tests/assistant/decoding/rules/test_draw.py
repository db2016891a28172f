"""`draw`: a token by inversion of the cumulative distribution, and its edge cases."""

import numpy as np
import pytest

from assistant.decoding.row import Row
from assistant.decoding.rules.rule import BLOCK, LONG, draw
from tests.assistant.decoding.rules.fixed_uniforms import FixedUniforms

HALVES = Row(np.array([3, 7]), np.array([0.5, 0.5]))


def test_the_smallest_uniform_draws_the_first_token_and_a_boundary_the_next():
    assert draw(HALVES, FixedUniforms(0.0)) == 3
    assert draw(HALVES, FixedUniforms(0.5)) == 7


def test_a_product_that_rounds_up_to_the_total_draws_the_last_token():
    # A subnormal total: there the product has too few digits to stay below it.
    row = Row(np.array([3, 7]), np.array([5e-324, 5e-324]))
    assert draw(row, FixedUniforms(np.nextafter(1, 0))) == 7


@pytest.mark.parametrize("size", [LONG - 1, LONG, LONG + 1, 10 * LONG + 77])
def test_long_rows_are_inverted_as_short_ones_are(size):
    rng = np.random.default_rng(2)
    probs = rng.random(size) ** 9 + 1e-12
    cumulative = np.cumsum(probs) / probs.sum()
    row = Row(np.arange(size), probs)
    for u in (*rng.random(300), 0.0, np.nextafter(1, 0)):
        token = draw(row, FixedUniforms(u))
        before = cumulative[token - 1] if token else 0.0
        assert before - 1e-12 <= u <= cumulative[token] + 1e-12


def test_every_token_of_a_long_row_can_be_drawn_at_the_edges_of_blocks():
    row = Row(np.arange(LONG), np.ones(LONG))
    for token in (0, BLOCK - 1, BLOCK, LONG - BLOCK - 1, LONG - BLOCK, LONG - 1):
        assert draw(row, FixedUniforms((token + 0.5) / LONG)) == token
