"""Figures from answers: ratios by question, intervals, an order in which drift cancels; reports."""

import json
from math import log
from pathlib import Path

import numpy as np
import pytest

from assistant.lab.bench import intervals
from assistant.lab.bench.compare_report import differences, load, report
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
        ("", "is not a system"),
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


FACTS = {
    "command": "prompts",
    "settings": {"sampling": {"temperature": 0.0}},
    "machine": {"cores": 2},
    "versions": {"specchat": "1"},
    "files": {"target": {"size": 1}},
}


def written(path, answers, **more):
    given = [
        {
            "question": question,
            "kind": kind,
            "repeat": 0,
            "system": "ars",
            "stats": {
                "mode": "ars",
                "generated_tokens": 100,
                "decode_s": seconds,
                "rounds": 100,
                "more": 1,
            },
        }
        for question, kind, seconds in answers
    ]
    path.write_text(json.dumps({**FACTS, **more, "answers": given}))
    return load(path)


def test_ratio_is_of_the_questions_that_both_have(tmp_path):
    a = written(tmp_path / "a", [("q", "code", 2.0), ("r", "code", 1.0), ("s", "chat", 1.0)])
    b = written(tmp_path / "b", [("q", "code", 1.0), ("r", "code", 2.0), ("t", "chat", 1.0)])
    code, everything = differences(a, b)
    assert (code.kind, code.questions, code.ratio.value) == ("code", 2, pytest.approx(1.0))
    assert everything.speeds == (pytest.approx(200 / 3), pytest.approx(200 / 3))


def test_report_that_an_earlier_version_wrote_is_compared():
    golden = load(Path(__file__).with_name("report.json"))
    found = {(each.kind, each.system): each for each in differences(golden, golden)}
    assert found.keys() == {(kind, way) for kind in ("code", "all") for way in ("ars", "model=3")}
    assert found["code", "model=3"].speeds == pytest.approx((50, 50))
    assert found["code", "model=3"].per_eval == (4, 4)


def test_what_was_different_is_told(tmp_path):
    a = written(tmp_path / "a", [("q", "code", 2.0)])
    b = written(tmp_path / "b", [("q", "code", 1.0)], settings={"sampling": {"temperature": 0.8}})
    text = report(a, b)[0].sections[0].text
    assert text == ("settings, sampling, temperature: 0.0 in A, 0.8 in B",)
    assert report(a, a)[0].sections[0].text == ("Both ran with the same settings.",)


def test_reports_with_nothing_in_common_are_refused(tmp_path):
    a = written(tmp_path / "a", [("q", "code", 2.0)])
    b = written(tmp_path / "b", [("r", "code", 1.0)])
    with pytest.raises(UsageError, match="in common"):
        report(a, b)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"answers": 3}', '{"answers": []}'])
def test_what_is_no_report_is_refused(tmp_path, content):
    (tmp_path / "x").write_text(content)
    with pytest.raises(UsageError, match="not a report"):
        load(tmp_path / "x")
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path / "none")
