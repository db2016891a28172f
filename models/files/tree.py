"""The folders below a folder, however they are linked, and only so many of them."""

import os
from collections.abc import Iterator
from pathlib import Path

_DEEPEST = 12
_MOST_FOLDERS = 20_000


def tree(top: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield each folder and the names of its files, in order.

    Links are followed, but no folder is entered twice; hidden and unreadable ones are passed over.
    """
    seen: set[tuple[int, int]] = set()
    waiting = [(top, 0)]
    while waiting and len(seen) < _MOST_FOLDERS:
        folder, depth = waiting.pop()
        if not _is_new(folder, seen):
            continue
        folders, names = _entries(folder)
        yield folder, names
        if depth < _DEEPEST:
            waiting += [(folder / name, depth + 1) for name in reversed(folders)]


def _is_new(folder: Path, seen: set[tuple[int, int]]) -> bool:
    try:
        status = folder.stat()
    except (OSError, ValueError):
        return False
    place = status.st_dev, status.st_ino
    if place in seen:
        return False
    seen.add(place)
    return True


def _entries(folder: Path) -> tuple[list[str], list[str]]:
    """Return the names of the folders and of the files in a folder."""
    folders: list[str] = []
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.startswith("."):
                    (folders if _is_folder(entry) else names).append(entry.name)
    except OSError:  # gone meanwhile, or not ours to read
        pass
    return sorted(folders), sorted(names)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder or a link to one; a link to itself is neither."""
    if entry.is_symlink():
        return os.path.isdir(entry.path)
    return entry.is_dir(follow_symlinks=False)
