"""The shipped code over every toy: it has the law of the target, and what is wrong is found."""

from fractions import Fraction
from functools import partial

import pytest

from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.suffix import SuffixSource
from assistant.decoding.sources.tail import TailSource
from assistant.lab.prove.law import distance
from tests.exact import enumeration
from tests.exact.broken import MISTAKES, InParts
from tests.exact.coupling import MISTAKEN, Coupled, DrawsFromTheResidual, brief, differing
from tests.exact.enumeration import CONTROLLER, FIXED, RULES, WHIMS, Case, cases
from tests.exact.planners import ControllerPlanner
from tests.exact.shipped_sources import SOURCES, START
from tests.exact.toy import Toy
from tests.exact.toy_sources import modelled_by

EVERY = list(cases())
THOROUGH = list(cases(thorough=True))
RIGHT = [mistake for mistake in MISTAKES if mistake.rule is not InParts]  # else it is the draft's


def title(case):
    return f"{case.source}, {case.stop}"


def has_the_law_of_the_target(case):
    distances = {name: case.distance(rule)[0] for name, rule in RULES.items()}
    distances["coupled"] = differing(brief(case))[0]
    assert distances == dict.fromkeys(distances, 0)


@pytest.mark.parametrize("case", EVERY, ids=title)
def test_each_rule_has_the_law_of_the_target(case):
    has_the_law_of_the_target(case)


@pytest.mark.some(12)
@pytest.mark.parametrize("case", THOROUGH, ids=title)
def test_each_rule_has_the_law_of_the_target_with_more_tokens_and_seeds(case):
    has_the_law_of_the_target(case)


@pytest.mark.parametrize("rule", [TokenRule, BlockRule])
@pytest.mark.parametrize("style", ["full", "zeros"])
def test_what_the_controller_decodes_has_the_law_of_the_target_whatever_it_proposes(rule, style):
    """It learns and weighs as it does in earnest; only its clock is one of paper."""
    lookaheads = set()
    for seed in range(4):
        drafter = partial(modelled_after_copies, Toy(3, seed + 40, style))
        planner, target = partial(ControllerPlanner, 2), Toy(3, seed, style)
        case = Case("copies, model", CONTROLLER, target, drafter, planner, 3, START)
        assert case.distance(rule)[0] == 0, seed
        lookaheads |= case.lookaheads
    assert lookaheads == {0, 1, 2}


def modelled_after_copies(draft):
    return Cascade(SuffixSource(), TailSource(), modelled_by(draft))


def names(case):
    return set(case.source.split(", "))


def test_the_distance_is_the_total_variation():
    half, third = Fraction(1, 2), Fraction(1, 3)
    assert distance({0: half, 1: half}, {0: half, 1: half}) == 0
    assert distance({0: half, 1: half}, {1: third, 2: 1 - third}) == Fraction(2, 3)


def test_every_source_and_every_way_of_deciding_is_enumerated():
    for every in EVERY, THOROUGH:
        assert {case.source for case in every} >= set(SOURCES)
        assert {case.stop for case in every} == {FIXED, WHIMS, CONTROLLER}
    assert len(THOROUGH) > len(EVERY)


def test_sources_do_propose_in_their_cases():
    for case in cases():
        if case.source not in SOURCES or case.stop != FIXED:
            continue
        case.law(RULES["token"])
        assert set() < case.seen <= names(case), case.source
        if "random" not in case.source and case.length > 2:
            assert len(case.seen) == len(names(case)), case.source


@pytest.mark.parametrize("mistake", RIGHT, ids=lambda mistake: mistake.what)
def test_what_finds_a_mistake_has_nothing_against_the_rule_without_it(mistake):
    assert mistake.case.distance(InParts)[0] == mistake.case.distance(TokenRule)[0] == 0


def test_the_parts_put_together_are_the_token_rule():
    for case in cases():
        if case.source == "model" and case.stop == FIXED:
            assert case.law(InParts) == case.law(TokenRule)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_each_mistake_is_found(mistake):
    assert 0 < mistake.case.distance(mistake.rule)[0] < 1


def test_the_coupled_rule_says_the_same_with_every_noise_and_its_mistake_does_not():
    assert differing(MISTAKEN, Coupled)[0] == 0
    assert differing(MISTAKEN, DrawsFromTheResidual)[0] > 0
    assert brief(MISTAKEN).length == 2


def test_a_case_is_the_shipped_loop():
    case = next(iter(cases()))
    assert enumeration.speculative.__module__ == "assistant.decoding.loops"
    assert sum(case.law(TokenRule).values()) == 1
