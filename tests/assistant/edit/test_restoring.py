"""Old lines that a new version leaves out unasked are restored while it is written."""

from pathlib import Path

import pytest

from assistant.edit import text_file
from assistant.edit.part import Part
from assistant.edit.restoring import restored
from assistant.edit.rewrite import Rewrite

HEAD = ["import os", "", ""]
FIRST = ["def first(a):", "    return os.path.join(a, 'first')", "", ""]
SECOND = ["@cache", "def second(b):", "    return [b, 'second']", "", ""]
THIRD = ["def third(c):", "    return {c: 'third'}"]
OLD = [*HEAD, *FIRST, *SECOND, *THIRD]


def rewrite(wish: str = "Rename a to path") -> Rewrite:
    file = text_file.parse(Path("a.py"), "\n".join(OLD).encode())
    return Rewrite(file, Part(0, len(OLD)), wish)


@pytest.mark.parametrize(
    ("new", "lines", "first", "last"),
    [
        ([*HEAD, *FIRST, THIRD[0]], [*HEAD, *FIRST, *SECOND], 8, 12),
        ([*HEAD, *FIRST[:2], SECOND[2]], [*HEAD, *FIRST, *SECOND[:2]], 6, 9),
        (["", FIRST[0]], ["", *HEAD], 1, 3),
        ([*HEAD, *FIRST, "#", THIRD[1]], [*HEAD, *FIRST, "#", "", "", *SECOND, THIRD[0]], 6, 13),
    ],
)
def test_lines_left_out_unasked_are_put_back_before_those_that_follow(new, lines, first, last):
    back = restored(rewrite(), new, set())
    assert back[:3] == (lines, first, last)
    assert restored(rewrite(), new, back.lost) is None


def test_the_end_that_is_left_out_is_put_back_once_all_is_written():
    new = [*HEAD, *FIRST, *SECOND]
    assert restored(rewrite(), new, set()) is None
    assert restored(rewrite(), new, set(), is_whole=True).lines[-2:] == THIRD


@pytest.mark.parametrize(
    ("wish", "new"),
    [
        ("Remove second", [*HEAD, *FIRST, THIRD[0]]),
        ("Rename second to other", [*HEAD, *FIRST, "def other(b):", SECOND[2], "", "", THIRD[0]]),
        ("Rename a to path", [*HEAD, "def first(path):", "    os.sep", *FIRST[2:], SECOND[0]]),
        ("Rename a to path", [*HEAD, *FIRST, *SECOND, THIRD[0]]),
        ("Rename a to path", [*HEAD, *FIRST, "    return something"]),
        ("Use pathlib instead of os", ["from pathlib import Path", "", "", FIRST[0]]),
    ],
)  # fmt: skip
def test_lines_removed_on_request_or_still_there_are_not_put_back(wish, new):
    assert restored(rewrite(wish), new, set()) is None
