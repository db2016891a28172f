"""The files in a folder that are to be indexed, and those that are left out, with the reason."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from assistant.tools.folders import Folders, UnreadablePath
from models.errors import well_formed

FILES = 100_000  # the most files and folders that are visited in a folder
SECONDS = 60.0  # of processor time that the walk may take
LONGEST_PATTERN = 4_096
"""Characters of a pattern in a .gitignore: no path is longer, and long ones take a while."""
_IGNORE_BYTES = 100_000  # of a .gitignore
_DEEP = "(?:/.+)?"  # a ** between segments, as pathspec writes it
_STAR = r"\[\^/\]\*"
_STARS = re.compile(rf"(?:{_STAR})+((?:\\.|\[\^?\]?[^]]*\](?!\*)|[^/[(\\])*)(?={_STAR})")
"""A * and the text between it and the next one in the same segment."""


class FoundFile(NamedTuple):
    """A file of the folder, to be indexed or left out."""

    path: str  # relative to the folder
    size: int = 0
    changed: int = 0  # ns
    reason: str = ""  # why it is left out: it continues a sentence that begins with its name


class LinearPattern(GitIgnoreSpecPattern):
    """A line of a .gitignore, matched in linear time.

    The text between two * is matched at the first position where it fits, without backtracking, and
    so are the segments between two **: a later match would leave less for the rest.
    """

    __slots__ = ()

    @classmethod
    def pattern_to_regex(cls, pattern: Any) -> tuple[Any, bool | None]:
        """Return the regular expression of a line, and whether it ignores what it matches."""
        regex, include = super().pattern_to_regex(pattern)
        if regex is None:
            return None, include
        regex = _STARS.sub(r"(?>[^/]*?\1)", regex)
        regex = re.sub(r"\[\^(?!/\])", "(?!/)[^", regex)  # git's classes have no slash
        first, *inner = regex.split(_DEEP)
        if inner:
            if "(?:.+/)?" in first:
                first = first.replace("(?:.+/)?", "(?>(?:.+?/)??", 1) + "(?=/))"
            middle = "".join(f"(?>(?:/.+?)??{part}(?=/))" for part in inner[:-1])
            regex = first + middle + _DEEP + inner[-1]
        return of_entry(regex, pattern), include


def of_entry(regex: str, pattern: str) -> str:
    """Return a regular expression of pathspec that matches a folder, but no file in it.

    The walk matches each folder before the files in it, which a later pattern may re-include.
    """
    regex = regex.replace("(?:(?P<ps_d>/)|$)", "/?$").replace("(?P<ps_d>/)", "/$")
    if pattern.endswith("/**/") and len(pattern) > 4:
        regex = regex.removesuffix("/$") + "/.*/$"
    return regex + ("." if regex.endswith("/") else "")


_Rules = tuple[tuple[str, GitIgnoreSpec], ...]
"""The rules of each .gitignore with the folder they apply to, the innermost first."""


def walk(folders: Folders) -> Iterator[FoundFile]:
    """Yield the files of a folder and of all within it.

    Hidden files, links within the folder, and files that a .gitignore names get no reason.
    """
    left, waiting = FILES, list[tuple[str, _Rules]]([("", ())])
    ends = time.process_time() + SECONDS
    while waiting and left >= 0:
        here, rules = waiting.pop()
        try:
            with folders.open(here) as descriptor, os.scandir(descriptor) as listed:
                spec, has_long = _spec(folders, here)
                rules = ((os.path.join(here, ""), spec), *rules)
                if has_long:
                    why = f"has a pattern of more than {LONGEST_PATTERN:,} characters, left out"
                    yield FoundFile(os.path.join(here, ".gitignore"), reason=why)
                entries = list(islice(listed, left + 1))
                for entry in entries[:left]:
                    if time.process_time() > ends:
                        yield FoundFile("", reason="takes too long to search; the rest is left out")
                        return
                    path = os.path.join(here, entry.name)
                    deeper = entry.is_dir(follow_symlinks=False)
                    if entry.name.startswith(".") or _ignored(path + "/" * deeper, rules):
                        continue
                    if deeper and path == well_formed(path):
                        waiting.append((path, rules))
                    else:
                        yield from _found_file(entry, path, folders.roots[0])
                left -= len(entries)
        except UnreadablePath as error:
            yield FoundFile(here, reason=str(error).removeprefix(f"{here} ").rstrip("."))
    if left < 0:
        yield FoundFile("", reason=f"holds more than {FILES:,} files; the rest is left out")


def _found_file(entry: "os.DirEntry[str]", path: str, root: Path) -> Iterator[FoundFile]:
    if (name := well_formed(path)) != path:
        yield FoundFile(name, reason="has a name that is not UTF-8")
    elif entry.is_symlink():
        if not Path(os.path.realpath(root / path)).is_relative_to(root):
            yield FoundFile(path, reason="is a link out of the folder")
    elif not entry.is_file(follow_symlinks=False):
        yield FoundFile(path, reason="is neither a file nor a folder")
    else:
        with suppress(FileNotFoundError):  # it is gone meanwhile
            state = entry.stat(follow_symlinks=False)
            yield FoundFile(path, state.st_size, state.st_mtime_ns)


def _ignored(path: str, rules: _Rules) -> bool:
    verdicts = (spec.check_file(path.removeprefix(under)).include for under, spec in rules)
    return next((verdict for verdict in verdicts if verdict is not None), False)


def _spec(folders: Folders, here: str) -> tuple[GitIgnoreSpec, bool]:
    """Return the patterns of a .gitignore, and whether it has one that is too long."""
    data, valid = b"", list[LinearPattern]()
    with suppress(UnreadablePath), folders.open(os.path.join(here, ".gitignore")) as file:
        data = os.read(file, _IGNORE_BYTES)
    lines = data.decode("utf-8-sig", "replace").splitlines()
    for line in lines:
        with suppress(ValueError, re.error):  # git skips such a line, too
            valid += [LinearPattern(line)] if len(line) <= LONGEST_PATTERN else []
    return GitIgnoreSpec(valid, backend="simple"), max(map(len, lines), default=0) > LONGEST_PATTERN
