"""Figures from answers: ratios by question, intervals, and an order in which drift cancels."""

from math import log

import numpy as np
import pytest

from assistant.lab.bench import intervals
from assistant.lab.bench.prompts_report import standings
from assistant.lab.bench.run_answers import ALL
from assistant.lab.bench.systems import interleaved, parse
from models.errors import UsageError
from tests.assistant.lab.bench.made import answer

SYSTEMS = ("ars", "auto")


def test_ratio_is_the_geometric_mean_over_questions_and_repeats_are_added_up():
    answers = [answer("a", "ars", 4.0, repeat=1), answer("a", "auto", 2.0, repeat=1)]
    for name, ars_s, auto_s, kind in (
        ("a", 2, 1, "code"),
        ("b", 1, 2, "code"),
        ("c", 1, 1, "chat"),
    ):
        answers += [answer(name, "ars", ars_s, kind=kind), answer(name, "auto", auto_s, kind=kind)]
    found = {(each.kind, each.system): each for each in standings(answers, SYSTEMS)}
    assert found["code", "auto"].ratio.value == pytest.approx(1.0)
    assert found["code", "auto"].worst == pytest.approx(0.5)
    assert found["code", "auto"].questions == 2
    assert found["chat", "auto"].ratio.value == pytest.approx(1.0)
    assert found["code", "ars"].tokens_per_s == pytest.approx(300 / 7)
    assert found["code", "ars"].ratio is None
    assert found[ALL, "auto"].questions == 3


def test_question_that_one_of_both_has_not_answered_is_left_out():
    answers = [answer("a", "ars", 1.0), answer("a", "auto", 0.5), answer("b", "auto", 9.0)]
    (kind, everything) = (each for each in standings(answers, SYSTEMS) if each.system == "auto")
    assert kind.questions == everything.questions == 1
    assert everything.ratio.value == pytest.approx(2)


def test_steady_drift_hits_all_systems_alike():
    now, spent = 0.0, {"ars": 0.0, "auto": 0.0, "sps": 0.0}
    for _, _, order in interleaved(range(10), list(spent)):
        for system in order:
            spent[system] += 1 + now
            now += 0.01
    assert max(spent.values()) == pytest.approx(min(spent.values()), rel=1e-12)
    plain = [sum(1 + 0.01 * (3 * i + j) for i in range(10)) for j in range(3)]
    assert max(plain) > 1.01 * min(plain)  # what would be without


def test_interval_covers_the_truth_as_often_as_it_says():
    """200 worlds; an interval of 95 % that covered less than 85 % or all would be wrong.

    Percentile intervals of 20 log-normal ratios cover about 93 %; outside of 84 % to 99.5 %
    (binomial, 200 draws at 0.93) lies less than one in a million on the low side, and the upper
    bound allows for all.
    """
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(200):
        found = intervals.geometric_mean(np.exp(rng.normal(log(1.5), 0.3, 20)))
        covered += found.low <= 1.5 <= found.high
    assert covered >= 160


def test_single_value_has_no_interval():
    assert intervals.mean([3.0]) == intervals.Interval(3.0)


def test_sign_flip_is_exact_for_few_pairs():
    assert intervals.sign_flip([1, 1, 1, 1, 1]) == pytest.approx(2 / 32)
    assert intervals.sign_flip([1, -1]) == 1.0
    assert intervals.sign_flip([0, 0, 0]) == 1.0
    assert intervals.sign_flip([1.0] * 40) < 0.001
    assert intervals.sign_flip([1.0, -1.0] * 20) == 1.0


def test_systems_are_written_as_people_say_them():
    ars, sps, model, both, half = parse("sps=4, model=3, suffix+model=7, f16:auto")
    assert (ars.name, ars.mode) == ("ars", "ars")
    assert (sps.mode, sps.lookahead, sps.sources) == ("sps", 4, None)
    assert (model.mode, model.lookahead, model.sources) == ("sps", 3, ("model",))
    assert both.sources == ("suffix", "model")
    assert (half.target, half.mode) == ("f16", "auto")
    (_, here, path) = parse("suffix,/tmp/a.b:c/x.gguf:sps=2")
    assert (here.mode, here.lookahead, here.sources) == ("auto", None, ("suffix",))
    assert path.target == "/tmp/a.b:c/x.gguf"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is no system"),
        ("fast", "neither a mode nor of"),
        ("ars=3", "goes with sps"),
        ("sps=0", "1 to 31"),
        ("sps=32", "1 to 31"),
        ("auto,auto", "listed twice"),
        ("suffix+=3", "neither a mode"),
    ],
)
def test_what_is_no_system_is_refused_with_the_reason(text, reason):
    with pytest.raises(UsageError, match=reason):
        parse(text)
