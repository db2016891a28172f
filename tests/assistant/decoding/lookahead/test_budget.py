"""How much speculation may lose, and what is held against it."""

import pytest

from assistant.decoding.lookahead.budget import ALLOWANCE, OPEN, SHARE, Budget


def test_a_debt_beyond_the_allowance_makes_it_pause_until_the_answer_is_long_enough():
    budget = Budget()
    for _ in range(10):
        budget.spend(2.0, 1, 1.0)
    assert budget.left(1.0) == 0
    budget.rest(10 / SHARE - 10, 1.0)
    assert budget.left(1.0) == pytest.approx(0)
    budget.rest(50, 1.0)
    assert budget.left(1.0) == pytest.approx(50 * SHARE)


def test_an_answer_that_has_lost_nothing_may_lose_the_allowance_or_a_share_if_that_is_more():
    budget = Budget()
    assert budget.left(1.0) == ALLOWANCE
    budget.rest(2 * ALLOWANCE / SHARE, 1.0)
    assert budget.left(1.0) == 2 * ALLOWANCE


def test_what_is_read_is_owed_and_what_was_saved_pays_for_it():
    budget = Budget()
    budget.spend(ALLOWANCE, 0, 1.0)
    assert budget.left(1.0) == 0
    budget.spend(1.0, 3, 1.0)
    assert budget.left(1.0) == 2.0


def test_a_slow_moment_of_the_whole_machine_is_not_held_against_it():
    """Rounds that were slow count by what a token of ArS is then found to take."""
    budget = Budget()
    for _ in range(OPEN):
        budget.spend(6.0, 3, 1.0)
    assert budget.left(1.0) == 0
    assert budget.left(3.0) > 0


def test_what_is_settled_stays_so_when_the_machine_changes_later():
    budget = Budget()
    budget.spend(2.0, 1, 1.0)
    for _ in range(OPEN):
        budget.rest(1, 1.0)
    assert budget.left(1.0) == budget.left(100.0) == ALLOWANCE - 1
