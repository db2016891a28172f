"""Fuzzy search for files to attach. It may be slow: use a thread."""

import os
import re
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from subprocess import DEVNULL
from time import monotonic

from models.files.places import expand_user

MAX_FILES = 20_000
"""Files to choose from; further ones are ignored."""
SEARCH_LIMIT_S = 2.0
"""Seconds to look for files."""
SKIPPED = {
    ".cache", ".git", ".hg", ".hypothesis", ".idea", ".mypy_cache", ".nox", ".pytest_cache",
    ".ruff_cache", ".svn", ".tox", ".venv", "__pycache__", "build", "dist", "node_modules",
    "site-packages", "target", "venv",
}  # fmt: skip
"""The names of folders that hold no documents."""
BINARY = {
    ".7z", ".a", ".avi", ".bin", ".bmp", ".bz2", ".class", ".db", ".dll", ".dylib", ".eot", ".exe",
    ".gguf", ".gif", ".gz", ".ico", ".jar", ".jpeg", ".jpg", ".mov", ".mp3", ".mp4", ".npy", ".npz",
    ".o", ".ogg", ".otf", ".parquet", ".png", ".pyc", ".pyd", ".safetensors", ".so", ".sqlite",
    ".tar", ".tif", ".tiff", ".ttf", ".wasm", ".wav", ".webm", ".webp", ".whl", ".woff", ".woff2",
    ".xz", ".zip", ".zst",
}  # fmt: skip
"""The ends of the names of files without text."""
GIT = ("git", "-c", "core.fsmonitor=false", "ls-files", "-z", "-co", "--exclude-standard")
"""Lists the files that a repository does not ignore, without running the program that its
configuration may name.
"""


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """A name that matches what was typed."""

    name: str
    marked: tuple[int, ...] = ()  # indices of the characters that were typed


def files_below(root: Path) -> tuple[str, ...]:
    """Return the documents below a folder, the nearest first; links to folders are not followed.

    In a git repository these are the files that it does not ignore.
    """
    tracked = _tracked_files(root)
    files = sorted(tracked, key=lambda name: (name.count("/"), name)) if tracked else _walk(root)
    texts = (name for name in files if os.path.splitext(name)[1].lower() not in BINARY)
    return tuple(islice(texts, MAX_FILES))


def matching(typed: str, below: Iterable[str], limit: int) -> tuple[FuzzyMatch, ...]:
    """Return the files that fit what was typed: a path, or letters of a name `below` the folder."""
    if typed == "~":
        return (FuzzyMatch("~/"),)
    folder, slash, last = typed.rpartition("/") if is_path(typed) else ("", "", typed)
    prefix = folder + slash
    return tuple(
        FuzzyMatch(prefix + match.name, tuple(len(prefix) + mark for mark in match.marked))
        for match in rank(entries(prefix) if prefix else below, last, limit)
    )


def is_path(typed: str) -> bool:
    """Return whether a path was typed, not letters of a name."""
    return typed.startswith(("/", "~", "./", "../"))


def is_begun(typed: str) -> bool:
    """Return whether the name of a file or folder begins with what was typed."""
    folder, slash, last = typed.lower().rpartition("/")
    names = entries(typed[: len(folder + slash)])
    return not last or any(name.lower().startswith(last) for name in names)


def entries(folder: str) -> tuple[str, ...]:
    """Return the names in a folder: folders first, with a slash at the end, hidden names last."""
    try:
        with os.scandir(expand_user(folder)) as listing:
            names = [f"{entry.name}/" if os.path.isdir(entry) else entry.name for entry in listing]
    except (OSError, ValueError):
        return ()
    names.sort(key=lambda name: (name.startswith("."), not name.endswith("/"), name))
    return tuple(names[:MAX_FILES])


def rank(names: Iterable[str], typed: str, limit: int) -> tuple[FuzzyMatch, ...]:
    """Return the names that contain the typed letters in order, the shortest span first."""
    if not typed:
        return tuple(FuzzyMatch(name) for name in islice(names, limit))
    # Possessive quantifiers: each letter matches its next occurrence, without backtracking.
    first, *others = map(re.escape, typed)
    rest = "".join(f"[^{letter}]*+({letter})" for letter in others)
    letters = re.compile(f"(?=({first}){rest})", re.IGNORECASE)
    fits: list[tuple[int, int, int, str, tuple[int, ...]]] = []
    for name in names:
        last = name.rfind("/", 0, len(name) - 1) + 1  # the start of the last part of the path
        marked = _tightest(letters, name, last) or _tightest(letters, name, 0)
        if marked:
            outside = sum(mark < last for mark in marked)
            fits.append((outside, marked[-1] - marked[0], len(name), name, marked))
    return tuple(FuzzyMatch(name, marked) for *_, name, marked in nsmallest(limit, fits))


def _tracked_files(root: Path) -> list[str] | None:
    """Return the files that git lists; None outside a repository."""
    try:
        done = subprocess.run(
            GIT, cwd=root, capture_output=True, timeout=SEARCH_LIMIT_S, check=True, stdin=DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    names = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    return [name for name in names if name and os.path.isfile(root / name)]


def _walk(root: Path) -> Iterator[str]:
    until = monotonic() + SEARCH_LIMIT_S
    folders = deque([""])
    while folders and monotonic() < until:
        folder = folders.popleft()
        try:
            with os.scandir(root / folder) as listing:
                files = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in files:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED:
                    folders.append(f"{folder}{entry.name}/")
            elif os.path.isfile(entry):  # following a link may fail
                yield f"{folder}{entry.name}"


def _tightest(letters: re.Pattern[str], name: str, start: int) -> tuple[int, ...]:
    """Return the indices of the letters with the shortest span; empty without a match."""
    matches = letters.finditer(name, start)
    spans = (tuple(start for start, _ in match.regs[1:]) for match in matches)
    return min(spans, key=lambda marks: marks[-1] - marks[0], default=())
