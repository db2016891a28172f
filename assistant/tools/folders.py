"""Folders that the user named, and nothing outside them.

A path is followed one component at a time from the folder itself, and no symbolic link is followed,
so nobody can exchange a component in the meantime.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from assistant.tools.limits import ENTRIES

_SAFE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotThere(Exception):
    """A path cannot be read; the text says why."""


class Folders:
    """Where tools may read. A path is absolute, or within the only folder."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(Path(os.path.realpath(root)) for root in roots)

    @contextmanager
    def opened(self, path: str) -> Iterator[int]:
        """Open a file or folder for reading.

        Raises:
            NotThere: it is outside, missing, a link or neither a file nor a folder.
        """
        root, parts = self._parts(path)
        folder = -1
        try:
            folder = os.open(root, _SAFE | os.O_DIRECTORY)
            for part in parts:
                inner = os.open(part, _SAFE, dir_fd=folder)
                os.close(folder)
                folder = inner
            kind = os.fstat(folder).st_mode
            if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
                raise NotThere(f"{path} is neither a file nor a folder.")
            yield folder
        except OSError as error:
            raise NotThere(f"{path} cannot be read: {_reason(error)}.") from error
        finally:
            if folder >= 0:
                os.close(folder)

    def _parts(self, path: str) -> tuple[Path, tuple[str, ...]]:
        named = Path(path)
        if "\0" in path or ".." in named.parts:
            raise NotThere("A path must not contain .. or null characters.")
        if not named.is_absolute() and len(self.roots) == 1:
            return self.roots[0], named.parts
        for root in self.roots:
            if named.is_absolute() and named.is_relative_to(root):
                return root, named.relative_to(root).parts
        allowed = ", ".join(map(str, self.roots))
        raise NotThere(f"{path} is outside of what may be read: {allowed}.")


def entries(folder: int) -> list[os.DirEntry[str]]:
    """Return what is in an open folder, by name; of a huge one a part."""
    with os.scandir(folder) as found:
        return sorted(islice(found, ENTRIES), key=lambda each: each.name)


def is_folder(descriptor: int) -> bool:
    """Whether an open descriptor is a folder's."""
    return stat.S_ISDIR(os.fstat(descriptor).st_mode)


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is none"
    if error.errno in {errno.ELOOP, errno.ENOTDIR}:  # of a last component, and of one before it
        return "a symbolic link, or a file, is in its way"
    return error.strerror or "unknown error"
