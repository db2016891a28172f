"""A run can be stopped anywhere and continued, and never mixes what does not belong together."""

import json

import msgspec
import pytest

from assistant.lab.bench.answers import kept
from assistant.lab.bench.run_file import RunFile
from models.errors import StorageError, UsageError
from tests.assistant.lab.bench.made import answer

FACTS = {"command": "prompts", "settings": {"sampling": {"temperature": 0.0}, "seed": None}}


def written(path, **results):
    """Write a run with some results, and return its file's content."""
    run = RunFile(path, FACTS)
    for key, result in results.items():
        run.add(key, result)
    run.close()
    return path.read_bytes()


def test_what_was_measured_is_there_when_it_is_continued(tmp_path):
    path = tmp_path / "deep" / "run.jsonl"
    first, second = answer("a", "ars", 2.0, lookahead_counts={0: 100}), answer("a", "auto", 1.0)
    written(
        path,
        **{
            f"answer | {each.system}": msgspec.to_builtins(each, str_keys=True)
            for each in (first, second)
        },
    )
    again = RunFile(path, FACTS)
    assert list(kept(again.results)) == [first, second]
    again.close()
    assert [each.name for each in path.parent.iterdir()] == ["run.jsonl"]


def test_half_a_line_of_a_killed_run_is_cut_off_and_measured_again(tmp_path):
    path = tmp_path / "run.jsonl"
    whole = written(path, one=1, two=2)
    for end in range(len(whole) - 1, whole.rfind(b"\n", 0, -1) + 1, -7):
        path.write_bytes(whole[:end])
        again = RunFile(path, FACTS)
        assert again.results == {"one": 1}
        again.add("two", 2)
        again.close()
        assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({**FACTS, "command": "sweep"}, 'command was "prompts", and is "sweep" now'),
        (
            {**FACTS, "settings": {"sampling": {"temperature": 0.8}, "seed": None}},
            "sampling, temperature was 0.0, and is 0.8 now",
        ),
        ({**FACTS, "files": {"target": {"size": 1}}}, "files was null"),
    ],
)
def test_run_of_other_settings_is_refused_with_the_reason(tmp_path, facts, reason):
    path = tmp_path / "run.jsonl"
    before = written(path)
    with pytest.raises(UsageError, match=reason):
        RunFile(path, facts)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"hello\n", b"{}\n", b"\xff\xfe", b'{"format": "x"}\n'])
def test_file_of_something_else_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="not the file of a run"):
        RunFile(path, FACTS)
    assert path.read_bytes() == content


def test_damage_in_the_middle_is_said(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(written(path, one=1) + b"{broken\n")
    with pytest.raises(StorageError, match="line 3, is damaged"):
        RunFile(path, FACTS)


def test_two_do_not_write_the_same_run(tmp_path):
    path = tmp_path / "run.jsonl"
    run = RunFile(path, FACTS)
    with pytest.raises(StorageError, match="another specchat"):
        RunFile(path, FACTS)
    run.close()
    written(path)


def test_results_are_on_disk_before_the_next_is_measured(tmp_path):
    path = tmp_path / "run.jsonl"
    run = RunFile(path, FACTS)
    run.add("one", {"x": 1})
    assert json.loads(path.read_text().splitlines()[-1]) == {"key": "one", "result": {"x": 1}}
    run.close()


def test_answer_that_is_none_is_a_storage_error():
    with pytest.raises(StorageError, match="damaged answer"):
        list(kept({"answer | x": {"question": 3}}))
