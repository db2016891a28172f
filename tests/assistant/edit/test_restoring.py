"""Old lines that a new version leaves out unasked are restored while it is written."""

from pathlib import Path

import pytest

from assistant.edit import text_file
from assistant.edit.part import Part
from assistant.edit.restoring import restore
from assistant.edit.rewrite import Rewrite

HEAD = ["import os", "", ""]
FIRST = ["def first(a):", "    return os.path.join(a, 'first')", "", ""]
SECOND = ["@cache", "def second(b):", "    return [b, 'second']", "", ""]
THIRD = ["def third(c):", "    return {c: 'third'}"]
OLD = [*HEAD, *FIRST, *SECOND, *THIRD]


PROSE = [f"{word} begins a line of a long text." for word in "ABCDEFG"]


def rewrite(wish: str = "Rename a to path", name: str = "a.py") -> Rewrite:
    old = OLD if name == "a.py" else PROSE
    return Rewrite(text_file.parse(Path(name), "\n".join(old).encode()), Part(0, len(old)), wish)


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
    assert (back := restore(rewrite(), new, set()))
    assert back[:3] == (lines, first, last)
    assert restore(rewrite(), new, back.lost) is None


@pytest.mark.parametrize("name", ["a.md", "a.yaml", "a.css"])
def test_all_lines_come_back_of_an_end_that_is_left_out_unasked(name):
    new = [PROSE[0].upper(), *PROSE[1:3]]
    wish = "Shout, only in line one, and keep the rest"
    back = restore(rewrite(wish, name), new, set(), is_whole=True)
    assert (back and back[:3]) == ([*new, *PROSE[3:]], 4, 7)
    assert restore(rewrite("A and G are wrong", name), PROSE[1:6], set(), is_whole=True) is None
    for wish in ("Shout the first three lines", "Keep three lines only", "Drop the others"):
        assert restore(rewrite(wish, name), new, set(), is_whole=True) is None


def test_all_lines_come_back_that_an_addition_leaves_out():
    new = ["Title", PROSE[0], *PROSE[5:]]
    back = restore(rewrite("Add a title", "a.md"), new[:3], set())
    assert (back and back[:3]) == (["Title", *PROSE[:5]], 2, 5)


@pytest.mark.parametrize(
    ("wish", "new"),
    [
        ("Remove second", [*HEAD, *FIRST, THIRD[0]]),
        ("Rename second to other", [*HEAD, *FIRST, "def other(b):", SECOND[2], "", "", THIRD[0]]),
        ("Rename a to path", [*HEAD, "def first(path):", "    os.sep", *FIRST[2:], SECOND[0]]),
        ("Rename a to path", [*HEAD, *FIRST, *SECOND, THIRD[0]]),
        ("Rename a to path", [*HEAD, *FIRST, "    return something"]),
        ("Use pathlib instead of os", ["from pathlib import Path", "", "", FIRST[0]]),
        ("Rename a to path", ["", "", *FIRST, SECOND[0]]),  # the import was lost earlier
    ],
)  # fmt: skip
def test_lines_removed_on_request_or_still_there_are_not_put_back(wish, new):
    assert restore(rewrite(wish), new, set()) is None
