"""Drawing from a row: inversion of the cumulative distribution, and its edges."""

import numpy as np

from assistant.sampling import draw
from assistant.warp import Row


class Given:
    """Uniforms that were chosen beforehand."""

    def __init__(self, *values: float) -> None:
        self._values = iter(values)

    def random(self) -> float:
        return next(self._values)


HALVES = Row(np.array([3, 7]), np.array([0.5, 0.5]))


def test_the_smallest_uniform_draws_the_first_token_and_a_boundary_the_next():
    assert draw(HALVES, Given(0.0)) == 3
    assert draw(HALVES, Given(0.5)) == 7


def test_the_largest_uniform_draws_the_last_token():
    assert draw(HALVES, Given(np.nextafter(1, 0))) == 7


def test_a_product_that_rounds_up_to_the_total_draws_the_last_token():
    # A subnormal total: there the product has too few digits to stay below it.
    row = Row(np.array([3, 7]), np.array([5e-324, 5e-324]))
    assert draw(row, Given(np.nextafter(1, 0))) == 7


def test_a_row_need_not_be_normalised():
    row = Row(np.array([3, 7]), np.array([0.02, 0.06]))
    assert draw(row, Given(0.2499)) == 3
    assert draw(row, Given(0.2501)) == 7


def test_every_uniform_draws_a_token_of_the_row():
    rng = np.random.default_rng(1)
    for _ in range(200):
        probs = rng.random(50) ** 9 + 1e-300
        ids = np.sort(rng.choice(1000, 50, replace=False))
        for u in (0.0, rng.random(), np.nextafter(1, 0)):
            assert draw(Row(ids, probs), Given(u)) in ids


def test_one_token_takes_one_uniform():
    rng = Given(0.1, 0.9)
    assert [draw(HALVES, rng), draw(HALVES, rng)] == [3, 7]
