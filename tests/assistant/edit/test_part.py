"""A part of a file is found by its lines or its name, in any language."""

from pathlib import Path

import pytest

from assistant.edit.part import Part, find, split
from models.errors import UsageError
from tests.assistant.edit.edits import source

PYTHON, C, SCRIPT, RUBY, MARGINS, TYPED, MODERN = (
    "\n".join(source(name))
    for name in ("parts.py", "parts.c", "parts.js", "parts.rb", "margins", "typed", "modern")
)
HEADED = "\n".join([*PYTHON.split("\n")[:6], *PYTHON.split("\n")[8:18]])
"""A function below its decorators and comments, none of which takes two lines."""


@pytest.mark.parametrize(
    ("text", "named", "first", "last"),
    [
        (MODERN, "add", 2, 2), (MODERN, "Box", 3, 5), (MODERN, "Point.fmt", 7, 8),
        (MODERN, "tests", 10, 10), (MODERN, "valid?", 11, 15), (MODERN, "shop", 16, 21),
        (MODERN, "quoted", 22, 24), (MODERN, "Total", 26, 28), (PYTHON, "5-13", 6, 12),
        (PYTHON, "13-14", 14, 14), (PYTHON, "5", 5, 5), (f"\n\n{C}", "", 3, 14),
        (PYTHON, "LIMIT", 3, 3), (PYTHON, "Outer", 19, 28), (PYTHON, "Outer.first", 20, 21),
        (PYTHON, "second", 23, 26), (PYTHON, "last", 31, 31), (C, "total", 3, 12),
        (SCRIPT, "Cart", 1, 5), (SCRIPT, "Cart.add", 2, 4), (SCRIPT, "total", 6, 8),
        (RUBY, "Cart", 1, 5), (RUBY, "total", 2, 4), (MARGINS, "Cart", 1, 6),
        (MARGINS, "load", 8, 13), (MARGINS, "USAGE", 15, 18), (MARGINS, "usage", 20, 25),
        (HEADED, "first", 6, 14), (TYPED, "largest", 1, 7), (TYPED, "first", 10, 11),
        (TYPED, "lanes.second", 12, 14),
    ],
)  # fmt: skip
def test_a_part_is_found(text, named, first, last):
    assert find(text.split("\n"), named, Path("file")) == Part(first - 1, last)


@pytest.mark.parametrize(
    ("named", "complaint"),
    [
        ("first", "in lines 9, 20"), ("missing", "defines no missing"),
        ("Outer.missing", "defines no"), ("0-3", "lines 1 to 31"), ("5-4", "lines 1 to 31"),
        ("30-32", "lines 1 to 31"), ("9" * 5_000, "lines 1 to 31"),
        ("1-" + "9" * 5_000, "lines 1 to 31"),
    ],
)  # fmt: skip
def test_a_part_that_is_not_there_or_there_twice_is_refused(named, complaint):
    with pytest.raises(UsageError, match=complaint):
        find(PYTHON.split("\n"), named, Path("file"))


def test_a_name_with_a_colon_is_a_file_if_there_is_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a:b").write_text("")
    assert split("a:b") == (Path("a:b"), "")
    assert split("a:c") == (Path("a"), "c")
    assert split("a") == (Path("a"), "")
    assert split("a:b:1-2") == (Path("a:b"), "1-2")
    assert split(f"{'a' * 300}:2") == (Path("a" * 300), "2")  # a longer name than any file's
