"""The files in a folder that are to be read; what is left out comes with the reason."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pathspec import GitIgnoreSpec

from assistant.tools.folders import Folders, UnreadablePath
from models.errors import well_formed

FILES = 100_000
"""Files and folders in a folder that are looked at."""
_IGNORE_BYTES = 100_000  # of a .gitignore


class Found(NamedTuple):
    """A file, or what stands in its place."""

    path: str  # relative to the folder
    size: int = 0
    changed: int = 0  # ns
    reason: str = ""  # why it is left out, as the end of a sentence that begins with it


_Rules = tuple[tuple[str, GitIgnoreSpec], ...]
"""What each .gitignore says of what lies under a path, the innermost first."""


def walk(folders: Folders) -> Iterator[Found]:
    """Yield the files of a folder and of all within it.

    Left out without a word are hidden files, links to what lies in the folder, and what a
    .gitignore in it names.
    """
    left, waiting = FILES, list[tuple[str, _Rules]]([("", ())])
    while waiting and left >= 0:
        here, rules = waiting.pop()
        try:
            with folders.opened(here) as descriptor, os.scandir(descriptor) as listed:
                rules = ((os.path.join(here, ""), _spec(folders, here)), *rules)
                entries = list(islice(listed, left + 1))
                for entry in entries[:left]:
                    path = os.path.join(here, entry.name)
                    deeper = entry.is_dir(follow_symlinks=False)
                    if entry.name.startswith(".") or _ignored(path + "/" * deeper, rules):
                        continue
                    if deeper and path == well_formed(path):
                        waiting.append((path, rules))
                    else:
                        yield from _found(entry, path, folders.roots[0])
                left -= len(entries)
        except UnreadablePath as error:
            yield Found(here, reason=str(error).removeprefix(f"{here} ").rstrip("."))
    if left < 0:
        yield Found("", reason=f"holds more than {FILES:,} files; the rest is left out")


def _found(entry: "os.DirEntry[str]", path: str, root: Path) -> Iterator[Found]:
    if (name := well_formed(path)) != path:
        yield Found(name, reason="has a name that is not UTF-8")
    elif entry.is_symlink():
        if not Path(os.path.realpath(root / path)).is_relative_to(root):
            yield Found(path, reason="is a link out of the folder")
    elif not entry.is_file(follow_symlinks=False):
        yield Found(path, reason="is neither a file nor a folder")
    else:
        with suppress(FileNotFoundError):  # it is gone meanwhile
            state = entry.stat(follow_symlinks=False)
            yield Found(path, state.st_size, state.st_mtime_ns)


def _ignored(path: str, rules: _Rules) -> bool:
    said = (spec.check_file(path.removeprefix(under)).include for under, spec in rules)
    return next((each for each in said if each is not None), False)


def _spec(folders: Folders, here: str) -> GitIgnoreSpec:
    data, valid = b"", list[str]()
    with suppress(UnreadablePath), folders.opened(os.path.join(here, ".gitignore")) as file:
        data = os.read(file, _IGNORE_BYTES)
    for line in data.decode("utf-8", "replace").splitlines():
        with suppress(ValueError, re.error):  # git passes over such a line, too
            GitIgnoreSpec.from_lines([line])
            valid.append(line)
    return GitIgnoreSpec.from_lines(valid)
