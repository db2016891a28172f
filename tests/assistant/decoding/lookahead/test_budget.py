"""How much speculation may lose in an answer."""

import pytest

from assistant.decoding.lookahead.budget import ALLOWANCE, FIRST, GROWTH, SHARE, Budget


@pytest.mark.parametrize(
    ("tokens", "lost", "left"),
    [
        (0, 0.0, FIRST),
        (0, FIRST, 0.0),
        (20, 1.0, FIRST + 20 * GROWTH - 1),  # a short answer may lose little
        (200, 2.0, ALLOWANCE + 200 * SHARE - 2),
        (0, -2.0, FIRST + 2),  # what was saved pays for what is lost
        (10, 10.0, 0.0),
        (1000, 10.0, ALLOWANCE + 1000 * SHARE - 10),  # a long answer may lose its share
    ],
)
def test_an_answer_may_lose_a_part_of_its_tokens_and_from_then_on_the_allowance(tokens, lost, left):
    budget = Budget()
    budget.add(tokens)
    budget.add(0, lost)
    assert budget.left == pytest.approx(left)
