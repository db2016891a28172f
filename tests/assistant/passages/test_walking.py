"""A folder is walked in time, whatever its .gitignore says, and as git would."""

import subprocess

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from assistant.passages import walking
from assistant.passages.walking import LinearPattern, walk
from assistant.tools.folders import Folders

COSTLY = [
    "*a" * 15 + "*b",
    "**/a/" * 15 + "b",
    "**/*a*a*a*a*/" * 15 + "b",
    "*[!b]" * 50 + "c",
    "*?" * 99,
]
"""Patterns that take hours where each star tries all lengths."""
PARTS = [
    "*",
    "*",
    "**",
    "a",
    "b",
    "?",
    "[ab]",
    "/",
    "/",
    "/**/",
    "\\*",
    "[]a]",
    "[a-b]",
    "(",
    ".",
    "[*]",
]


@pytest.mark.parametrize("costly", COSTLY)
def test_no_pattern_takes_longer_the_more_stars_it_has(tmp_path, costly):
    (tmp_path / ".gitignore").write_text(f"{costly}\n*.log\n")
    deep = tmp_path / "/".join("a" * 40)
    deep.mkdir(parents=True)
    files = [tmp_path / ("a" * 200), deep / ("a" * 200), tmp_path / "x.log"]
    for file in files:
        file.touch()
    found = {each.path for each in walk(Folders([tmp_path]))}
    ignored = (
        {"a" * 200, str((deep / ("a" * 200)).relative_to(tmp_path))} if "?" in costly else set()
    )
    assert found == {str(file.relative_to(tmp_path)) for file in files[:2]} - ignored


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8), st.text("ab*(./", min_size=1))
def test_a_pattern_matches_what_it_matched_with_all_ways_tried(parts, path):
    pattern, path = "".join(parts), path.strip("/")
    assume(path and "//" not in path)
    plain, linear = GitIgnoreSpecPattern(pattern), LinearPattern(pattern)
    assert linear.include == plain.include
    for named in (path, f"{path}/"):
        one, other = (each.match_file(named) for each in (plain, linear))
        assert (one is None) == (other is None)
        assert one is None or one.match.groupdict() == other.match.groupdict()


NEGATED = ["a[!b]c", "[!a]*[!b]*c", "*[^a]*.x", "[!]a]b", "x[!a-c]/y"]


@pytest.mark.parametrize("pattern", NEGATED)
def test_a_class_that_is_negated_holds_no_slash_as_in_git(tmp_path, pattern):
    (tmp_path / ".gitignore").write_text(f"{pattern}\n")
    paths = [
        "a/c",
        "axc",
        "abc",
        "xd/y",
        "x/y",
        "zzbzc",
        "b.x",
        "zb",
        "]b",
        "b/b.x",
        "a/ab",
        "xa/y",
    ]
    for each in paths:
        (tmp_path / each).parent.mkdir(exist_ok=True)
        (tmp_path / each).touch()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    listed = ["git", "-C", tmp_path, "ls-files", "-o", "--exclude-standard"]
    known = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
    assert {each.path for each in walk(Folders([tmp_path]))} == {*known} - {".gitignore"}


def test_a_walk_that_takes_too_long_ends_and_says_so(tmp_path, monkeypatch):
    for number in range(3):
        (tmp_path / f"{number}.txt").touch()
    monkeypatch.setattr(walking, "SECONDS", -1.0)
    (found,) = walk(Folders([tmp_path]))
    assert "takes too long" in found.reason
