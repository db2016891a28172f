"""What ships with the program to prove it: it passes what is right, and finds what is wrong."""

from dataclasses import replace
from fractions import Fraction
from itertools import chain

import pytest

from assistant.decoding.rules.token import TokenRule
from assistant.lab.prove import enumeration, rules
from assistant.lab.prove.broken import MISTAKES, InParts
from assistant.lab.prove.coupling import MISTAKEN, Coupled, DrawsFromTheResidual, brief, differing
from assistant.lab.prove.enumeration import CONTROLLER, FIXED, RULES, WHIMS, cases
from assistant.lab.prove.law import distance
from assistant.lab.prove.sources import SOURCES

RIGHT = [mistake for mistake in MISTAKES if mistake.rule is not InParts]  # else it is the draft's


def names(case):
    return set(case.source.split(", "))


def test_the_distance_is_the_total_variation():
    half, third = Fraction(1, 2), Fraction(1, 3)
    assert distance({0: half, 1: half}, {0: half, 1: half}) == 0
    assert distance({0: half, 1: half}, {1: third, 2: 1 - third}) == Fraction(2, 3)


def test_every_source_and_every_way_of_deciding_is_enumerated():
    every = list(cases())
    assert {case.source for case in every} >= set(SOURCES)
    assert {case.stop for case in every} == {FIXED, WHIMS, CONTROLLER}
    assert len(list(cases(thorough=True))) > len(every)


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


def test_each_mistake_is_found_and_how_far_off_it_is():
    checks = list(rules.mistaken())
    assert len(checks) == len(MISTAKES) + 1
    for check in checks:
        assert check.holds, check.what
        assert 0 < check.figures["variation"] < 1


def test_the_coupled_rule_says_the_same_with_every_noise_and_its_mistake_does_not():
    assert differing(MISTAKEN, Coupled)[0] == 0
    assert differing(MISTAKEN, DrawsFromTheResidual)[0] > 0
    assert brief(MISTAKEN).length == 2


def one_case(monkeypatch, case):
    monkeypatch.setattr(rules, "cases", lambda thorough: [case])


def test_a_rule_that_is_off_is_named_with_its_distance(monkeypatch):
    mistake = MISTAKES[0]
    one_case(monkeypatch, mistake.case)
    monkeypatch.setitem(rules.RULES, "token", mistake.rule)
    checks = {check.what: check for check in rules.enumerated(False) if check}
    broken = checks["token rule, model, a fixed lookahead"]
    assert broken.holds is False
    assert broken.figures["variation"] == float(mistake.case.distance(mistake.rule)[0])
    assert checks["block rule, model, a fixed lookahead"].holds is True


def test_a_blind_enumeration_is_noticed(monkeypatch):
    """When nothing is proposed, no mistake shows: the controls have to say so."""
    idle = [replace(each, rule=TokenRule) for each in MISTAKES[:1]]
    monkeypatch.setattr(rules, "MISTAKES", idle)
    assert next(rules.mistaken()).holds is False


def test_steps_are_counted_as_they_are_taken(monkeypatch):
    short = list(cases())[:2]
    monkeypatch.setattr(rules, "cases", lambda thorough: short)
    steps = chain(rules.enumerated(False), rules.mistaken())
    taken = [step for step in steps if step is None or step.layer == "mistakes"]
    assert len(taken) == rules.count(False)


def test_a_case_is_the_shipped_loop():
    case = next(iter(cases()))
    assert enumeration.speculative.__module__ == "assistant.decoding.loops"
    assert sum(case.law(TokenRule).values()) == 1
