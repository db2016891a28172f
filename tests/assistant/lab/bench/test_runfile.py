"""A run can be stopped anywhere and continued, and never mixes what does not belong together."""

from contextlib import closing

import pytest

from assistant.lab.bench.run_file import RunFile
from models.errors import StorageError, UsageError
from tests.assistant.lab.bench.made import answer

FACTS = {"command": "prompts", "settings": {"sampling": {"temperature": 0.0}, "seed": None}}
ONE, TWO = answer("a", "ars", 2.0, lookahead_counts={0: 100}), answer("a", "auto", 1.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "run.jsonl"


def written(path, *answers):
    """Write a run with some answers, and return its file's content."""
    with closing(RunFile(path, FACTS)) as run:
        for each in answers:
            run.add(each)
            assert path.read_bytes().endswith(b"}\n")  # on disk before the next is measured
    return path.read_bytes()


def test_what_was_measured_is_there_when_it_is_continued(path):
    written(path, ONE, TWO)
    with closing(RunFile(path, FACTS)) as again:
        assert [*again.answers.values()] == [ONE, TWO]
    assert [each.name for each in path.parent.iterdir()] == ["run.jsonl"]


def test_half_a_line_of_a_killed_run_is_cut_off_and_measured_again(path):
    whole = written(path, ONE, TWO)
    for end in range(len(whole) - 1, whole.rfind(b"\n", 0, -1) + 1, -37):
        path.write_bytes(whole[:end])
        with closing(RunFile(path, FACTS)) as again:
            assert [*again.answers.values()] == [ONE]
            again.add(TWO)
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
def test_run_of_other_settings_is_refused_with_the_reason(path, facts, reason):
    before = written(path)
    with pytest.raises(UsageError, match=reason):
        RunFile(path, facts)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"hello\n", b"[]\n", b"\xff\xfe", b'{"format": "x"}\n'])
def test_file_of_something_else_is_refused_and_left_alone(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(UsageError, match="not the file of a run"):
        RunFile(path, FACTS)
    assert path.read_bytes() == content


@pytest.mark.parametrize("line", [b"{broken\n", b'{"question": 3}\n', b'{"question": "\xff"}\n'])
def test_damage_in_the_middle_is_said(path, line):
    path.write_bytes(written(path, ONE) + line)
    with pytest.raises(StorageError, match="line 3, is damaged"):
        RunFile(path, FACTS)
