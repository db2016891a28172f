"""How much speculation may lose, and what is held against it."""

import pytest

from assistant.lookahead.budget import ALLOWANCE, LOSS_ALLOWED, OPEN, Budget


def test_a_debt_beyond_the_allowance_makes_it_pause_until_time_has_passed():
    budget = Budget()
    for _ in range(100):
        budget.spend(2.0, 1, 1.0)
    assert budget.left(1.0) == 0
    budget.rest((100 - ALLOWANCE) / LOSS_ALLOWED - 200)
    assert budget.left(1.0) == pytest.approx(0)
    budget.rest(50)
    assert budget.left(1.0) == pytest.approx(50 * LOSS_ALLOWED)


def test_what_is_saved_up_is_bounded():
    budget = Budget()
    for _ in range(1000):
        budget.spend(1.0, 3, 1.0)
    for _ in range(60):
        budget.spend(10.0, 1, 1.0)
    assert budget.left(1.0) == 0


def test_a_slow_moment_of_the_whole_machine_is_not_held_against_it():
    """Rounds that were slow count by what a token of ArS is then found to take."""
    budget = Budget()
    for _ in range(OPEN - 1):
        budget.spend(6.0, 3, 1.0)
    assert budget.left(1.0) == 0
    assert budget.left(3.0) > 0
