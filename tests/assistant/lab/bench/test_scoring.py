"""Scores: ROUGE-2 by hand, and problems that can be solved."""

import json
import sys

import pytest

from assistant.lab.bench.questions import DATA, Question, shipped
from assistant.lab.bench.scoring import passes, program, rouge_2

RUNNER = (sys.executable, "-I", "-")


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        ("the cat sat", "the cat sat", 1.0),
        ("The cat, sat!", "the cat sat", 1.0),
        ("a b c", "x y z", 0.0),
        ("", "a b", 0.0),
        ("a b c d", "b c", 2 * 1 / (3 + 1)),  # one pair in common, of three and one
        ("a b a b", "a b", 2 * 1 / (3 + 1)),  # a repetition counts once
    ],
)
def test_rouge_2_by_hand(text, reference, score):
    assert rouge_2(text, reference) == pytest.approx(score)


@pytest.mark.parametrize("question", shipped("code"), ids=lambda question: question.name)
def test_each_problem_is_solved_by_its_solution_and_not_by_nothing(question):
    rows = map(json.loads, (DATA / "code.jsonl").read_text("utf-8").splitlines())
    solution = {row["task_id"]: row["canonical_solution"] for row in rows}[question.name]
    assert passes(f"Here it is:\n```python\n{solution}```\nDone.", question, RUNNER)
    assert not passes(f"def {question.entry_point}(*args): pass", question, RUNNER)


def test_bare_code_an_open_fence_and_the_rest_of_a_function_count_too():
    code = "from typing import List\n\ndef double(x: List) -> List:\n    '''Double.'''\n"
    test = "def check(candidate):\n    assert candidate([1]) == [1, 1]\n"
    question = Question("q", "code", "", None, code, test, "double")
    whole = "def double(x: List) -> List:\n    return x + x\n"
    for text in (whole, f"```python\n{whole}", f"Sure.\n```\n{whole}\n```", "    return x + x\n"):
        assert passes(text, question, RUNNER), program(text, question)


def test_summaries_have_references_that_are_not_their_text():
    for question in shipped("summaries"):
        assert 0 < rouge_2(question.reference, question.text) < 0.2
