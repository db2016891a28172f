"""What was measured is on disk before the next answer is."""

from contextlib import closing

import pytest

from assistant.lab.bench.run_file import RunFile
from models.errors import StorageError
from tests.assistant.lab.bench.made import answer

FACTS = {"command": "prompts", "settings": {"seed": None}}


def test_each_answer_is_a_line_on_disk_before_the_next_is_measured(tmp_path):
    path = tmp_path / "deep" / "run.jsonl"
    with closing(RunFile(path, FACTS)) as run:
        for number in (2, 3):
            run.add(answer("a", "ars", 2.0))
            assert len(path.read_bytes().splitlines()) == number
    with pytest.raises(StorageError, match="cannot be written: File exists"):
        RunFile(path, FACTS)
