"""Every broken variant of the shipped code is noticed by the test that is there for it."""

import pytest

from tests.mutants.everything import MUTANTS
from tests.mutants.mutant import failure

# Here llama.cpp and numpy notice before an assertion does.
CRASHES = {
    "leave rejected tokens in the cache": "ModelError",
    "fall off the end of the cumulative sum": "IndexError",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_killed(mutant):
    ways = {"Failed", CRASHES.get(mutant.name, "AssertionError")}
    assert mutant.death() in ways


@pytest.mark.thorough  # they are tests that run every day
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_its_killer_passes_on_the_code_as_it_is(mutant, tmp_path):
    assert failure(mutant.killed_by, tmp_path) is None
