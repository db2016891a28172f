"""How much speculation may lose in an answer."""

import pytest

from assistant.decoding.lookahead.budget import ALLOWANCE, SHARE, Budget


@pytest.mark.parametrize(
    ("tokens", "lost", "left"),
    [
        (0, 0.0, ALLOWANCE),
        (0, ALLOWANCE, 0.0),
        (50, 2.0, ALLOWANCE + 50 * SHARE - 2),
        (0, -2.0, ALLOWANCE + 2),  # what was saved pays for what is lost
        (10, 10.0, 0.0),
        (1000, 10.0, ALLOWANCE + 1000 * SHARE - 10),  # a long answer may lose its share
    ],
)
def test_an_answer_may_lose_the_allowance_and_a_share_of_its_tokens(tokens, lost, left):
    budget = Budget()
    budget.add(tokens)
    budget.add(0, lost)
    assert budget.left == pytest.approx(left)
