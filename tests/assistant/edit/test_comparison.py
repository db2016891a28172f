"""The comparison of two versions: hunks while the new one is written, and patches."""

import subprocess
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.edit import comparison
from assistant.edit.comparison import Line, compare, patch

APPLYING = pytest.mark.parametrize("program", [["git", "apply"], ["patch", "-p1"]])
lines_ = st.lists(st.sampled_from(["", "a", "b", "c = 1", "return", "\tx"]), max_size=30)


def applied(old, hunks):
    """Return the old lines with the hunks applied."""
    new, at = [], 0
    for hunk in hunks:
        new += old[at : hunk.start - 1]
        at = hunk.start - 1
        for sign, text in hunk.lines:
            assert sign == "+" or old[at] == text
            at += sign != "+"
            new += [text] * (sign != "-")
    return new + old[at:]


@given(lines_, lines_)
def test_the_hunks_lead_from_the_old_version_to_the_new(old, new):
    assert applied(old, compare(old, new)) == new


@given(lines_, lines_, st.integers(0, 30))
def test_of_a_version_under_way_nothing_is_removed_after_its_end(old, new, count):
    result = applied(old, compare(old, new[:count], is_whole=False))
    rest = result[len(new[:count]) :]
    assert result == [*new[:count], *rest]
    assert rest == old[len(old) - len(rest) :]


def test_a_hunk_is_settled_once_enough_follows_that_is_unchanged():
    old = [str(number) for number in range(30)]
    new = [*old[:5], "new", *old[6:]]
    settled = [
        bool(hunks) and hunks[0].is_settled
        for hunks in (compare(old, new[:end], is_whole=False) for end in range(31))
    ]
    assert settled.index(True) == 13
    assert all(settled[13:])
    ((start, lines, _),) = compare(old, new)
    assert (start, lines[3:5]) == (3, (Line("-", "5"), Line("+", "new")))


@APPLYING
@pytest.mark.parametrize("name", ["file.py", "with space ", "ü.txt", 'a\tb\n"c\\', "..x"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a\nb\nc\n", b"a\nB\nc\n"), (b"a\nb", b"a\nb\n"), (b"a\nb\n", b"a\nb"),
        (b"a\r\nb\r\n", b"a\r\nB\r\n"), ("\xfc\n".encode("latin-1"), "\xfcx\n".encode("latin-1")),
        (b"a\x0cb\nc\x0b\n", b"a\x0cb\nd\x0b\n"),
        ("a\u2028b\nc\n".encode(), "a\u2028b\nd\n".encode()),
    ],
)  # fmt: skip
def test_git_and_patch_take_the_patch(tmp_path, monkeypatch, program, name, old, new):
    monkeypatch.chdir(tmp_path)
    path = Path(name)
    path.write_bytes(old)
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(program, input=patch(path, old, new), check=True, capture_output=True)
    assert path.read_bytes() == new


@APPLYING
def test_a_patch_names_the_file_that_a_link_leads_to(tmp_path, monkeypatch, program):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("old\n")
    Path("link").symlink_to("file")
    subprocess.run(program, input=patch(Path("link"), b"old\n", b"new\n"), check=True)
    assert Path("file").read_text() == "new\n"
    assert patch(Path("link"), b"same\n", b"same\n") == b""


def test_of_a_long_text_only_what_is_not_the_same_above_and_below_is_compared(monkeypatch):
    compared = []

    class Matcher(SequenceMatcher[str]):
        def __init__(self, junk, old, new, autojunk):
            compared.append(len(old) + len(new))
            super().__init__(junk, old, new, autojunk)

    monkeypatch.setattr(comparison, "SequenceMatcher", Matcher)
    old = ["}", ""] * 1000
    (hunk,) = compare(old, [*old[:900], "x", *old[901:]])
    assert (hunk.start, compared) == (898, [14])
