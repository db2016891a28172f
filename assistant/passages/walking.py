"""The files in a folder that are to be read; what is left out comes with the reason."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pathspec import GitIgnoreSpec, Pattern

from assistant.tools.folders import Folders, UnreadablePath
from models.errors import well_formed

FILES = 100_000
"""Files and folders in a folder that are looked at."""
_IGNORE_BYTES = 100_000  # of a .gitignore


class Found(NamedTuple):
    """A file, or something in its place."""

    path: str  # relative to the folder
    size: int = 0
    changed: int = 0  # ns
    reason: str = ""  # why it is left out, as the end of a sentence that begins with it


class _Rules(NamedTuple):
    """The .gitignore of a folder, and of those above it."""

    folder: str
    spec: GitIgnoreSpec
    above: "_Rules | None"


def walk(folder: Path) -> Iterator[Found]:
    """Yield the files of a folder and of all within it.

    Left out without a word are hidden files, links to what lies in the folder, and what a
    .gitignore in it names.
    """
    folders, left = Folders([folder]), FILES
    waiting: list[tuple[str, _Rules | None]] = [("", None)]
    while waiting:
        here, above = waiting.pop()
        try:
            with folders.opened(here) as descriptor, os.scandir(descriptor) as listed:
                rules = _Rules(here, _spec(folders, here), above)
                entries = list(islice(listed, left + 1))
                found, inner = _kinds(folders.roots[0], here, entries[:left], rules)
        except UnreadablePath as error:
            yield Found(here, reason=str(error).removeprefix(f"{here} ").rstrip("."))
            continue
        yield from found
        if len(entries) > left:
            yield Found("", reason=f"holds more than {FILES:,} files; the rest is left out")
            return
        left -= len(entries)
        waiting += [(each, rules) for each in reversed(inner)]


def _kinds(
    root: Path, here: str, entries: Iterable["os.DirEntry[str]"], rules: _Rules
) -> tuple[list[Found], list[str]]:
    """Return what an open folder holds: files, and folders."""
    found, inner = list[Found](), list[str]()
    for entry in sorted(entries, key=lambda each: each.name):
        path, is_folder = os.path.join(here, entry.name), entry.is_dir(follow_symlinks=False)
        if entry.name.startswith(".") or _ignored(path + "/" * is_folder, rules):
            continue
        if (name := well_formed(path)) != path:
            found.append(Found(name, reason="has a name that is no UTF-8"))
        elif is_folder:
            inner.append(path)
        elif entry.is_symlink():
            if not Path(os.path.realpath(root / path)).is_relative_to(root):
                found.append(Found(path, reason="is a link out of the folder"))
        elif not entry.is_file(follow_symlinks=False):
            found.append(Found(path, reason="is neither a file nor a folder"))
        else:
            with suppress(FileNotFoundError):  # gone meanwhile
                state = entry.stat(follow_symlinks=False)
                found.append(Found(path, state.st_size, state.st_mtime_ns))
    return found, inner


def _ignored(path: str, rules: _Rules | None) -> bool:
    """Whether the innermost .gitignore that speaks of a path says that it is ignored."""
    while rules:
        inside = path[len(rules.folder) + 1 :] if rules.folder else path
        if (said := rules.spec.check_file(inside).include) is not None:
            return said
        rules = rules.above
    return False


def _spec(folders: Folders, here: str) -> GitIgnoreSpec:
    data = b""
    with suppress(UnreadablePath), folders.opened(os.path.join(here, ".gitignore")) as file:
        data = os.read(file, _IGNORE_BYTES)
    patterns = list[Pattern]()
    for line in data.decode("utf-8", "replace").splitlines():
        with suppress(ValueError, re.error):  # git passes over such a line, too
            patterns += GitIgnoreSpec.from_lines([line]).patterns
    return GitIgnoreSpec(patterns)
