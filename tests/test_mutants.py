"""Every broken variant of the shipped code is noticed by the test that is there for it."""

import pytest

from tests.mutants.everything import MUTANTS

# Here llama.cpp and numpy notice before an assertion does.
CRASHES = {
    "leave rejected tokens in the cache": "ModelError",
    "fall off the end of the cumulative sum": "IndexError",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_killed(mutant):
    ways = {"Failed", CRASHES.get(mutant.name, "AssertionError")}
    assert mutant.death() in ways
