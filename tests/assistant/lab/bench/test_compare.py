"""Two reports side by side."""

import json
from pathlib import Path

import pytest

from assistant.lab.bench.compare_report import differences, load, report
from models.errors import UsageError

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
    with pytest.raises(UsageError, match="no report"):
        load(tmp_path / "x")
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path / "none")
