"""Every rule, source and plan over every toy has exactly the law of the target.

The mutants show that it would be noticed if it had not, one that looks at the drawn token among
them; that the coupled rule does not mind that is in `rules/test_coupled`.
"""

from fractions import Fraction

import pytest

from tests.exact.coupling import brief, differing
from tests.exact.enumeration import CONTROLLER, FIXED, RULES, WHIMS, cases
from tests.exact.law import distance
from tests.exact.shipped_sources import SOURCES

EVERY = list(cases())
THOROUGH = list(cases(thorough=True))


def title(case):
    return f"{case.source}, {case.stop}"


def has_the_law_of_the_target(case):
    assert {name: case.distance(rule)[0] for name, rule in RULES.items()} == dict.fromkeys(RULES, 0)
    if case.target.n_vocab < 4:  # there are too many noises of four tokens
        assert differing(brief(case)) == 0
    assert len(case.lookaheads) > 1 or case.stop != CONTROLLER


@pytest.mark.parametrize("case", EVERY, ids=title)
def test_each_rule_has_the_law_of_the_target(case):
    has_the_law_of_the_target(case)
    if case.source in SOURCES and case.stop == FIXED:  # that its sources did propose
        names = set(case.source.split(", "))
        assert set() < case.seen <= names
        assert len(case.seen) == len(names) or "random" in names or case.length < 3


@pytest.mark.some(6)
@pytest.mark.parametrize("case", THOROUGH, ids=title)
def test_each_rule_has_the_law_of_the_target_with_more_tokens_and_seeds(case):
    has_the_law_of_the_target(case)


def test_the_distance_is_the_total_variation():
    half, third = Fraction(1, 2), Fraction(1, 3)
    assert distance({0: half, 1: half}, {0: half, 1: half}) == 0
    assert distance({0: half, 1: half}, {1: third, 2: 1 - third}) == Fraction(2, 3)


def test_every_source_and_every_way_of_deciding_is_enumerated():
    for every in EVERY, THOROUGH:
        assert {case.source for case in every} >= set(SOURCES)
        assert {case.stop for case in every} == {FIXED, WHIMS, CONTROLLER}
    assert len(THOROUGH) > len(EVERY)
