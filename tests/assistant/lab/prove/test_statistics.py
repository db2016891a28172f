"""The figures of a proof: exact tests, acceptance in closed form, and the small enumeration."""

import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest

from assistant.decoding.lookahead.policy import Fixed
from assistant.decoding.loops import speculative
from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.token import TokenRule
from assistant.lab.prove import enumeration, exact_tests
from assistant.lab.prove.enumeration import AcceptsAll
from assistant.lab.prove.exact_tests import alike, as_expected, holm, roughly_alike
from assistant.lab.prove.law import law
from assistant.lab.prove.significance import coincidence, of_blocks, one_by_one
from tests.assistant.decoding.rules.given import coupled_acceptance
from tests.exact.exact_rows import keep_all
from tests.exact.toy import Toy
from tests.exact.toy_sources import modelled


def rng(seed=1):
    return np.random.default_rng(seed)


def counts(law, size, seed):
    return Counter(dict(enumerate(rng(seed).multinomial(size, law).tolist())))


def test_p_of_a_small_table_is_that_of_all_deals(monkeypatch):
    """Of the 6 ways of dealing out two and two, only 2 are as far apart: p is a third."""
    monkeypatch.setattr(exact_tests, "FIRST_LOOK", 60_000)
    monkeypatch.setattr(exact_tests, "MIN_DEALS_AS_FAR", 60_000)
    p_value = alike(Counter(a=2), Counter(b=2), rng())
    assert abs(p_value - 1 / 3) < 5.5 * math.sqrt(2 / 9 / 60_000)  # P < 4e-8


def test_p_of_samples_of_one_law_is_uniform():
    law = np.array([0.5, 0.3, 0.1, 0.06, 0.04])
    found = [alike(counts(law, 300, 2 * i), counts(law, 300, 2 * i + 1), rng(i)) for i in range(60)]
    assert min(found) > 1e-4
    assert 0.25 < np.mean(found) < 0.75  # P < 1e-8: the mean of 60 deviates by 0.037


def test_samples_of_two_laws_get_a_second_look(monkeypatch):
    looks = []
    share = exact_tests._share

    def watched(found, pooled, size, count, chance):
        looks.append(count)
        return share(found, pooled, size, count, chance)

    monkeypatch.setattr(exact_tests, "SECOND_LOOK", 40_000)
    monkeypatch.setattr(exact_tests, "_share", watched)
    ours, theirs = counts([0.5, 0.5], 500, 1), counts([0.7, 0.3], 500, 2)
    assert alike(ours, theirs, rng()) == 1 / 40_001
    assert looks == [exact_tests.FIRST_LOOK, 40_000]


def test_many_deals_as_far_apart_end_the_look(monkeypatch):
    monkeypatch.setattr(exact_tests, "FIRST_LOOK", 10**9)  # would take hours
    assert alike(Counter(a=2), Counter(b=2), rng()) > 0.3


def test_one_outcome_is_always_alike():
    assert alike(Counter(a=5), Counter(a=9), rng()) == 1


def test_the_sum_of_unlike_trials_has_its_own_law():
    chances = [0.1, 0.5, 0.9]
    law = {0: 0.9 * 0.5 * 0.1, 3: 0.1 * 0.5 * 0.9}
    z, p_value = as_expected(chances, 0)
    assert p_value == pytest.approx(2 * law[0])
    assert z == pytest.approx(-1.5 / math.sqrt(0.09 + 0.25 + 0.09))
    assert as_expected(chances, 3)[1] == pytest.approx(2 * law[3])


@pytest.mark.parametrize("chances", [[1.0, 1.0], [0.0], [], [1 - 1e-17]])
def test_what_is_certain_has_nothing_to_be_tested(chances):
    assert as_expected(chances, round(sum(chances))) == (0.0, 1.0)


def test_what_cannot_be_is_noticed():
    assert as_expected([1.0, 1.0], 1)[1] == 0


def test_a_rate_that_is_off_is_noticed():
    z, p_value = as_expected([0.8] * 1000, 740)
    assert z < -4.5
    assert p_value < 1e-5


def test_holm_multiplies_by_what_is_left():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_rough_p_is_near_the_exact_one():
    law = np.array([0.4, 0.3, 0.2, 0.1])
    ours, theirs = rng(1).multinomial(800, law, 40), rng(2).multinomial(800, law, 40)
    rough = roughly_alike(ours, theirs)
    for i in range(40):
        exact = alike(Counter(dict(enumerate(ours[i]))), Counter(dict(enumerate(theirs[i]))), rng())
        assert abs(exact - rough[i]) < 0.06


def rows(seed):
    rng = np.random.default_rng(seed)
    ids = [np.sort(rng.choice(12, 6, replace=False)) for _ in range(2)]
    return [Row(each, rng.dirichlet(np.ones(6))) for each in ids]


@pytest.mark.parametrize(("rule", "trials"), [(TokenRule, one_by_one), (BlockRule, of_blocks)])
@pytest.mark.parametrize("style", ["full", "zeros"])
def test_trials_are_kept_as_often_as_they_say(rule, trials, style):
    """By enumeration: in all, and among the trials of each chance at each place."""
    target, drafter = Toy(3, 1, style), modelled(Toy(3, 2, style))
    kept, tried = defaultdict(Fraction), defaultdict(Fraction)

    def run(rng):
        round_ = next(speculative(target, drafter, [], lambda: Fixed(2), keep_all, rule(rng)))
        return tuple(trials(round_))

    for outcome, probability in law(run).items():
        for trial in outcome:
            tried[trial.place, trial.chance] += probability
            kept[trial.place, trial.chance] += trial.kept * probability
    assert {place for place, _ in tried} == {0, 1}
    for key, probability in tried.items():
        assert float(kept[key] / probability) == pytest.approx(key[1]), key


@pytest.mark.parametrize("seed", range(5))
def test_rows_coincide_as_often_as_a_sum_over_all_pairs_says(seed):
    target, draft = rows(seed)
    maps = [dict(zip(row.ids.tolist(), row.probs.tolist(), strict=True)) for row in (target, draft)]
    assert coincidence(target, draft) == pytest.approx(coupled_acceptance(*maps))
    assert coincidence(target, target) == pytest.approx(1)


def test_rows_apart_have_nothing_in_common():
    target, draft = Row(np.array([0]), np.ones(1)), Row(np.array([1]), np.ones(1))
    assert target.overlap(draft) == coincidence(target, draft) == 0


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
