"""Which files there are to attach. Everything here may take long: use a thread."""

import os
import subprocess
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

MOST = 20_000
"""Files to choose from; more are not looked at."""
PATIENCE = 2.0
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
"""Lists what a repository does not ignore; a repository may not name a program to be run."""


def files_below(root: Path) -> tuple[str, ...]:
    """Return the text files below a folder, the nearest first; links to folders are not followed.

    In a git repository these are the files that it does not ignore.
    """
    listed = _tracked(root)
    found = sorted(listed, key=_nearness) if listed else _walked(root)
    names = []
    for name in found:
        if os.path.splitext(name)[1].lower() not in BINARY:
            names.append(name)
        if len(names) == MOST:
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
    return tuple(names[:MOST])


def _nearness(name: str) -> tuple[int, str]:
    return name.count("/"), name


def _tracked(root: Path) -> list[str] | None:
    """Ask git; None where there is no repository."""
    try:
        done = subprocess.run(
            GIT,
            cwd=root,
            capture_output=True,
            timeout=PATIENCE,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    names = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    return [name for name in names if name and (root / name).is_file()]


def _walked(root: Path) -> Iterator[str]:
    until = monotonic() + PATIENCE
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
