"""`walking`: a folder is walked in bounded time, and ignores what git ignores."""

import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from assistant.passages import walking
from assistant.passages.walking import LinearPattern, walk
from assistant.tools.folders import Folders
from tests.patience import examples

# Patterns that take hours where each star tries all lengths.
COSTLY = ["*a" * 15 + "*b", "**/a/" * 15 + "b", "**/*a*a*a*a*/" * 15 + "b", "*[!b]" * 50 + "c",
          "*?" * 99]  # fmt: skip
PARTS = ["*", "*", "**", "a", "b", "?", "[ab]", "/", "/", "/**/", "\\*", "[]a]", "[a-b]", "(",
         ".", "[*]"]  # fmt: skip


@pytest.mark.parametrize("costly", COSTLY)
def test_no_pattern_takes_longer_the_more_stars_it_has(tmp_path, costly):
    (tmp_path / ".gitignore").write_text(f"{costly}\n*.log\n")
    deep = tmp_path / "/".join("a" * 40)
    deep.mkdir(parents=True)
    files = [tmp_path / ("a" * 200), deep / ("a" * 200), tmp_path / "x.log"]
    for file in files:
        file.touch()
    left = [] if "?" in costly else [str(file.relative_to(tmp_path)) for file in files[:2]]
    assert sorted(file.path for file in walk(Folders([tmp_path]))) == sorted(left)


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8), st.text("ab*(./", min_size=1))
def test_a_pattern_matches_what_it_matched_with_all_ways_tried(parts, path):
    pattern, path = "".join(parts), path.strip("/")
    assume(path and "//" not in path)
    linear = LinearPattern(pattern)
    plain, include = GitIgnoreSpecPattern.pattern_to_regex(pattern)
    assert linear.include == include
    for named in (path, f"{path}/"):
        matched = plain and re.search(walking.of_entry(plain, pattern), named)
        assert bool(matched) == (linear.match_file(named) is not None)


def not_ignored(folder: Path) -> set[str]:
    """Return the files of a folder that git does not ignore."""
    subprocess.run(["git", "init", "-q", folder], check=True)
    listed = ["git", "-C", str(folder), "ls-files", "-z", "-o", "--exclude-standard"]
    known = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0")
    return {path for path in known if path and not path.endswith(".gitignore")}


NAMES = ("a", "b", "a.x", "b.x", "ab", " a", "#a", "!a")
LINES = (
    *("*", "!*", "**", "!**", "***", "*.x", "!a.x", "!b.x", "a", "!a", "a/", "/a", "a/b", "!a/b"),
    *("**/b", "b/**", "!b/**", "!*/", "*/", "a/*", "!a/b/", "/*", "!/a/", "#c", "\\#a", "\\!a"),
    *("a\\ ", " a", "a\\", "[ab]", "[!a]", "[a-", "\\", "*/b", "!**/a.x", "a**b", "/**/a", "?"),
    *("//a", "a//b", "a/**/b", "!a/**/b.x", "**/a/**", "a/**/", "\ufeffa"),
    *("a[!x]b", "*[^b]*.x", "[!]a]b", "b[!a-c]/a"),
)
FOLDER = st.tuples(st.sets(st.sampled_from(NAMES)), st.lists(st.sampled_from(LINES), max_size=4))
TREE = st.dictionaries(st.lists(st.sampled_from(NAMES), max_size=3).map("/".join), FOLDER)


@given(TREE)
@example({"": ({"a.x"}, ["**/a/**", "**", "!a.x"]), "a.x": ({"a.x"}, [])})
@example({"": ((), ["[!a]", "!**/a.x"]), "a.x/b": ({"a"}, [])})
@example({"": ((), ["a/**/", "!**/a.x"]), "a": ({"a.x"}, []), "a/a.x": ({"b"}, [])})
@example({"b.x": ((), ["b/**"]), "b.x/b": ({"a"}, ["!**"])})
@example({"": ({"a"}, ["\ufeffa"])})
@example({"": ((), ["a[!x]b", "*[^b]*.x"]), "a": ({"b", "a.x"}, []), "b": ({"b.x"}, [])})
@settings(max_examples=examples(60))
def test_a_tree_of_ignoring_files_is_read_as_git_reads_it(tree):
    with TemporaryDirectory() as name:
        root = Path(name)
        for path in tree:
            (root / path).mkdir(parents=True, exist_ok=True)
        for path, (files, lines) in tree.items():
            (root / path / ".gitignore").write_text("\n".join(lines))
            for file in files:
                (root / path / file).touch()  # which may be a folder
        assert {each.path for each in walk(Folders([root]))} == not_ignored(root)


def test_a_pattern_that_is_longer_than_a_path_is_named_and_left_out(tmp_path):
    (tmp_path / ".gitignore").write_text(f"{'*' * 4_097}\n*.log\n")
    for name in ("a", "x.log"):
        (tmp_path / name).touch()
    reasons = {each.path: each.reason for each in walk(Folders([tmp_path]))}
    reason = "has a pattern of more than 4,096 characters, left out"
    assert reasons == {".gitignore": reason, "a": ""}


def test_a_walk_that_takes_too_long_ends_and_says_so(tmp_path, monkeypatch):
    for number in range(3):
        (tmp_path / f"{number}.txt").touch()
    monkeypatch.setattr(walking, "SECONDS", -1.0)
    (reasons,) = walk(Folders([tmp_path]))
    assert "takes too long" in reasons.reason
