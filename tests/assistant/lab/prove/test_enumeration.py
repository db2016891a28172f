"""The small enumeration of `specchat prove`: it passes what is right, and finds what is wrong."""

import runpy

import pytest

from assistant.decoding.rules.token import TokenRule
from assistant.lab.prove import enumeration
from assistant.lab.prove.enumeration import AcceptsAll


def test_each_rule_has_the_law_of_the_target_and_each_mistake_has_not():
    checks = list(enumeration.checks())
    assert len(checks) == enumeration.count()
    assert all(check.holds for check in checks)
    for check in checks:
        assert (check.figures["variation"] == 0) == (check.layer == "enumeration"), check.what


@pytest.mark.parametrize("lookahead", [1, 2])
def test_probabilities_sum_to_1(lookahead):
    assert sum(enumeration.target_law().values()) == 1
    assert sum(enumeration.law_of(TokenRule, lookahead).values()) == 1


def test_a_rule_that_is_off_breaks_it(monkeypatch):
    monkeypatch.setattr(enumeration, "RULES", [("token rule", AcceptsAll, 1)])
    broken = next(enumeration.checks())
    assert (broken.layer, broken.holds) == ("enumeration", False)
    assert 0 < broken.figures["variation"] < 1


def test_a_blind_enumeration_is_noticed(monkeypatch):
    """Where a mistake makes no difference, nothing is proved: the controls have to say so."""
    monkeypatch.setattr(enumeration, "RULES", [])
    monkeypatch.setattr(enumeration, "MISTAKES", [("none at all", TokenRule, 1)])
    (blind,) = enumeration.checks()
    assert (blind.layer, blind.holds) == ("mistakes", False)


def test_a_person_can_run_it_alone(capsys):
    runpy.run_path(enumeration.__file__, run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert [line.endswith("0.0000") for line in lines] == [True] * 4 + [False] * 3
