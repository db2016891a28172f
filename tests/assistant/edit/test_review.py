"""The review of an edit reports what it breaks or loses unasked, and nothing that was asked for."""

import json
from pathlib import Path
from typing import Any

import pytest

from assistant.edit.review import review

DATA = Path(__file__).with_name("review")
CASES = json.loads((DATA / "cases.json").read_text())
DEEP = "(" * 20_000 + ")" * 20_000
NESTED = f"use {'a::{' * 3_000}b{'}' * 3_000};\n"


def reviewed(case: dict[str, Any]) -> tuple[str, ...]:
    old = new = (DATA / f"{case['file']}.txt").read_text()
    for before, after in case["replace"]:
        assert before in new, case
        new = new.replace(before, after)
    return review(Path(case["file"]).suffix, old, new, case["wish"])


@pytest.mark.parametrize("faulty", [True, False])
def test_of_forty_edits_at_least_38_are_judged_right(faulty):
    cases = [case for case in CASES if case["faulty"] is faulty]
    wrong = [(case, reviewed(case)) for case in cases if bool(reviewed(case)) is not faulty]
    assert len(cases) == 40
    assert len(wrong) <= 2, wrong


def test_of_eighty_short_edits_at_least_76_are_judged_right():
    cases = json.loads((DATA / "more.json").read_text())
    asked = ("suffix", "old", "new", "wish")
    wrong = [case for case in cases if bool(review(*map(case.get, asked))) is not case["faulty"]]
    assert len(cases) == 80
    assert len(wrong) <= 4, wrong


@pytest.mark.parametrize(
    ("suffix", "old", "new", "wish", "problems"), json.loads((DATA / "sentences.json").read_text())
)
def test_each_problem_is_a_sentence_of_its_own(suffix, old, new, wish, problems):
    assert [*review(suffix, old, new, wish, fewest=1)] == problems


@pytest.mark.parametrize("suffix", [".py", ".js", ".c", ".rs", ".json", ".kt", ""])
def test_hostile_texts_are_reviewed_too(suffix):
    for text in ("", "\0", "\ud800", DEEP, "def " * 1000, NESTED, "a" * 1_000_000):
        assert review(suffix, text, text, "x") == ()
