"""`Budget`: how many evaluations speculation may lose in an answer."""

import pytest

from assistant.decoding.lookahead.budget import (
    ALLOWANCE,
    CAUTIOUS_ALLOWANCE,
    CAUTIOUS_SHARE,
    SHARE,
    Budget,
)


def left(tokens: int, lost: float, cautious: bool = False) -> float:
    budget = Budget()
    budget.add(tokens)
    budget.add(0, lost)
    return budget.left(cautious)


@pytest.mark.parametrize(
    ("tokens", "lost", "expected"),
    [
        (0, 0.0, ALLOWANCE),
        (0, ALLOWANCE, 0.0),
        (50, 2.0, ALLOWANCE + 50 * SHARE - 2),
        (0, -2.0, ALLOWANCE + 2),  # what was saved pays for what is lost
        (10, 10.0, 0.0),
        (1000, 10.0, ALLOWANCE + 1000 * SHARE - 10),  # a long answer may lose its share
    ],
)
def test_an_answer_may_lose_the_allowance_and_a_share_of_its_tokens(tokens, lost, expected):
    assert left(tokens, lost) == pytest.approx(expected)


@pytest.mark.parametrize("lost", [-2.0, 0.0, 0.3, 5.0])
@pytest.mark.parametrize("tokens", [0, 10, 80, 100, 1000])
def test_the_cautious_budget_is_smaller_for_short_answers_alone(tokens, lost):
    most = CAUTIOUS_ALLOWANCE + CAUTIOUS_SHARE * tokens
    assert left(tokens, lost, cautious=True) == pytest.approx(
        max(0.0, min(left(tokens, 0.0), most) - lost)
    )
    assert (left(tokens, 0.0, cautious=True) < left(tokens, 0.0)) == (tokens < 87)


@pytest.mark.parametrize(
    ("tokens", "lost", "expected"), [(0, 0.0, 0.1), (10, 0.0, 0.6), (0, 0.2, 0.0), (0, -2.0, 2.1)]
)
def test_a_suggestion_may_lose_less_from_its_first_token_on(tokens, lost, expected):
    budget = Budget(of_suggestion=True)
    budget.add(tokens, lost)
    assert budget.left() == budget.left(cautious=True) == pytest.approx(expected)
