"""Safe access to the folders that the user named.

A path is opened one component at a time, relative to the open folder before it, and no symbolic
link is followed. So no component can be replaced between its check and its use.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_SAFE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class UnreadablePath(Exception):
    """A path cannot be read; the message says why."""


class Folders:
    """The folders that tools may read. A path is absolute, or relative to the only folder."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(Path(os.path.realpath(root)) for root in roots)

    @contextmanager
    def open(self, path: str) -> Iterator[int]:
        """Open a file or folder for reading; yield its descriptor, or raise UnreadablePath."""
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
                raise UnreadablePath(f"{path} is neither a file nor a folder.")
            yield folder
        except OSError as error:
            raise UnreadablePath(f"{path} cannot be read: {error.strerror}.") from error
        except UnicodeEncodeError as error:
            raise UnreadablePath(f"{path} is not valid Unicode.") from error
        finally:
            if folder >= 0:
                os.close(folder)

    def _parts(self, path: str) -> tuple[Path, tuple[str, ...]]:
        named = Path(path)
        if "\0" in path or ".." in named.parts:
            raise UnreadablePath("A path must not contain .. or null characters.")
        if not named.is_absolute() and len(self.roots) == 1:
            return self.roots[0], named.parts
        for root in self.roots:
            if named.is_absolute() and named.is_relative_to(root):
                return root, named.relative_to(root).parts
        allowed = ", ".join(map(str, self.roots))
        raise UnreadablePath(f"{path} is outside what may be read: {allowed}.")


def entries(folder: int) -> list[os.DirEntry[str]]:
    """Return the entries of an open folder, sorted by name."""
    with os.scandir(folder) as scanned:
        return sorted(scanned, key=lambda entry: entry.name)


def is_folder(descriptor: int) -> bool:
    """Whether a descriptor is that of a folder."""
    return stat.S_ISDIR(os.fstat(descriptor).st_mode)
