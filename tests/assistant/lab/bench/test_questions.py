"""The readers of HumanEval and Spec-Bench."""

import json

import pytest

from assistant.lab.bench.plan import bundled, first_of_each, questions_of
from models.errors import UsageError

HUMAN_EVAL = {
    "task_id": "HumanEval/2",
    "prompt": "\n\ndef truncate(number: float) -> float:\n    '''Return the decimals.'''\n",
    "entry_point": "truncate",
    "canonical_solution": "    return number % 1.0\n",
    "test": "def check(candidate):\n    assert candidate(3.5) == 0.5\n",
}
GAP = {
    "task_id": "SingleLineInfilling/HumanEval/2/L0",
    "entry_point": "truncate",
    "prompt": "def truncate(number):\n",
    "suffix": "\n",
    "canonical_solution": "    return number % 1.0",
    "test": "",
}
SPEC_BENCH = [
    {"question_id": 81, "category": "writing", "turns": ["Write a post.", "Start with A."]},
    {"question_id": 241, "category": "summarization", "turns": ["Sum."], "reference": ["Short."]},
    {"question_id": 9, "category": "math", "turns": ["1+1?"], "reference": ["2", "two"]},
]


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "\n")
    return path


def test_human_eval_asks_for_the_function(tmp_path):
    (question,) = questions_of(written(tmp_path / "h.jsonl", [HUMAN_EVAL]))
    assert (question.name, question.kind) == ("HumanEval/2", "code")
    assert "def truncate(number: float)" in question.text


def test_human_eval_infilling_has_what_stands_before_in_and_after_a_gap(tmp_path):
    (question,) = questions_of(written(tmp_path / "i.jsonl", [GAP]))
    assert (question.kind, question.text) == ("SingleLineInfilling", GAP["prompt"])
    assert (question.suffix, question.reference) == (GAP["suffix"], GAP["canonical_solution"])


def test_spec_bench_asks_the_first_turn_and_keeps_the_reference(tmp_path):
    writing, summary, sums = questions_of(written(tmp_path / "s.jsonl", SPEC_BENCH))
    assert (writing.kind, writing.text, writing.reference) == ("writing", "Write a post.", None)
    assert (summary.name, summary.reference) == ("summarization/241", "Short.")
    assert sums.reference == "2"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "has no questions"),
        (b"{", "line 1 is not JSON"),
        (b"1" * 5_000, "line 1 is not JSON"),
        (b"[" * 99_999, "line 1 is not JSON"),
        (b"[1]\n", "line 1 is not a question"),
        (b'\n{"question_id": 1, "category": "x", "turns": []}\n', "line 2 is not a question"),
        (b'{"task_id": 1}\n', "HumanEval has task_id"),
        (b"\xff\xfe\x00", "UTF-8"),
    ],
)
def test_a_file_of_neither_benchmark_is_refused_with_the_line(tmp_path, content, reason):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=reason):
        questions_of(path)


def test_a_few_of_each_kind_are_the_first_of_each():
    tasks = bundled("tasks")
    few = first_of_each(tasks, 1)
    assert len(few) == len({each.kind for each in few}) == len({each.kind for each in tasks})
    assert first_of_each(tasks, None) == tasks


@pytest.mark.parametrize(
    ("name", "has"),
    [("tasks", "text"), ("code", "text"), ("summaries", "reference"), ("gaps", "suffix")],
)
def test_prompts_that_come_with_it_have_names_of_their_own_and_what_scores_them(name, has):
    questions = bundled(name)
    assert all(getattr(each, has) for each in questions)
    assert len(questions) == len({each.name for each in questions})
