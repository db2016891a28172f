"""Find the files to attach, by a few letters of their names. It may take long: use a thread."""

import os
import re
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from time import monotonic

MAX_FILES = 20_000
"""Files to choose from; more are not looked at."""
SEARCH_LIMIT_S = 2.0
"""Seconds to look for files."""
SKIPPED = frozenset(
    {
        ".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache",
        ".ruff_cache", ".pytest_cache", ".hypothesis", ".tox", ".nox", ".cache", ".idea", "target",
        "dist", "build", "site-packages",
    }
)  # fmt: skip
BINARY = frozenset(
    {
        ".7z", ".a", ".avi", ".bin", ".bmp", ".bz2", ".class", ".db", ".dll", ".dylib", ".eot",
        ".exe", ".gguf", ".gif", ".gz", ".ico", ".jar", ".jpeg", ".jpg", ".mov", ".mp3", ".mp4",
        ".npy", ".npz", ".o", ".ogg", ".otf", ".parquet", ".pdf", ".png", ".pyc", ".pyd",
        ".safetensors", ".so", ".sqlite", ".tar", ".tif", ".tiff", ".ttf", ".wasm", ".wav", ".webm",
        ".webp", ".whl", ".woff", ".woff2", ".xz", ".zip", ".zst",
    }
)  # fmt: skip
GIT = ("git", "-c", "core.fsmonitor=false", "ls-files", "-z", "-co", "--exclude-standard")
"""Lists what a repository does not ignore; a repository must not be able to run a program."""


def files_below(root: Path) -> tuple[str, ...]:
    """Return the text files below a folder, the nearest first; links to folders are not followed.

    In a git repository these are the files that it does not ignore.
    """
    listed = _tracked(root)
    found = sorted(listed, key=lambda name: (name.count("/"), name)) if listed else _walked(root)
    names = []
    for name in found:
        if os.path.splitext(name)[1].lower() not in BINARY:
            names.append(name)
        if len(names) == MAX_FILES:
            break
    return tuple(names)


def is_path(typed: str) -> bool:
    """Return whether a path was typed, not letters of a name."""
    return typed.startswith(("/", "~", "./", "../"))


def located(name: str, root: Path) -> Path:
    """Return where a name leads to."""
    return root / os.path.expanduser(name)


def entries(folder: str, root: Path) -> tuple[str, ...]:
    """Return what a folder holds: folders first, with a slash at the end, hidden ones last."""
    try:
        with os.scandir(located(folder, root)) as found:
            names = [f"{entry.name}/" if entry.is_dir() else entry.name for entry in found]
    except (OSError, ValueError):
        return ()
    names.sort(key=lambda name: (name.startswith("."), not name.endswith("/"), name))
    return tuple(names[:MAX_FILES])


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """A name that goes with what was typed."""

    name: str
    marked: tuple[int, ...] = ()  # which characters of the name were typed


def ranked(names: Iterable[str], typed: str, most: int) -> tuple[FuzzyMatch, ...]:
    """Return the names that have the typed letters in order, the tightest fit first."""
    if not typed:
        return tuple(FuzzyMatch(name) for name in islice(names, most))
    # From each first letter on to the next of each other, without looking back.
    first, *others = map(re.escape, typed)
    rest = "".join(f"[^{letter}]*+({letter})" for letter in others)
    letters = re.compile(f"(?=({first}){rest})", re.IGNORECASE)
    fits: list[tuple[int, int, int, str, tuple[int, ...]]] = []
    for name in names:
        last = name.rfind("/", 0, len(name) - 1) + 1  # where the last part of the path begins
        marked = _tightest(letters, name, last) or _tightest(letters, name, 0)
        if marked:
            outside = sum(mark < last for mark in marked)
            fits.append((outside, marked[-1] - marked[0], len(name), name, marked))
    return tuple(FuzzyMatch(name, marked) for *_, name, marked in nsmallest(most, fits))


def _tracked(root: Path) -> list[str] | None:
    """Ask git; None where there is no repository."""
    try:
        done = subprocess.run(
            GIT,
            cwd=root,
            capture_output=True,
            timeout=SEARCH_LIMIT_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    names = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    return [name for name in names if name and (root / name).is_file()]


def _walked(root: Path) -> Iterator[str]:
    until = monotonic() + SEARCH_LIMIT_S
    folders = deque([""])
    while folders and monotonic() < until:
        folder = folders.popleft()
        try:
            with os.scandir(root / folder) as found:
                listed = sorted(found, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in listed:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED:
                    folders.append(f"{folder}{entry.name}/")
            elif entry.is_file():
                yield f"{folder}{entry.name}"


def _tightest(letters: re.Pattern[str], name: str, start: int) -> tuple[int, ...]:
    """Return where the letters stand closest together; nothing where they are not."""
    matches = letters.finditer(name, start)
    found = (tuple(begin for begin, _ in match.regs[1:]) for match in matches)
    return min(found, key=lambda marks: marks[-1] - marks[0], default=())
