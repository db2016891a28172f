"""A private file of JSON that several programs read and change at the same time."""

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from models.files import disk

LOCK_S, POLL_S = 10.0, 0.005
"""How long another program may change the file before this one gives up, and how often it looks."""
Content = TypeVar("Content")


class JsonFile(Generic[Content]):
    """A file that is replaced in one step, so reading needs no lock; changes wait for each other.

    The lock beside the file is the system's, which ends it with the program that holds it.
    """

    def __init__(self, path: Path, kind: type[Content]) -> None:
        self._path, self._kind = path, kind

    def read(self) -> Content | None:
        """Return the content; None if the file is missing, damaged or of another kind."""
        try:
            with disk.open_regular(self._path) as file:
                return converted(json.load(file), self._kind)
        except (OSError, ValueError, RecursionError):
            return None

    def write(self, content: Content) -> None:
        """Replace the content; paths in it need not be UTF-8.

        Raises:
            OSError: it cannot be written.
        """
        from msgspec import to_builtins  # slow to load, and --help needs none of it

        disk.write_private(self._path, json.dumps(to_builtins(content, enc_hook=str)))

    def update(self, change: Callable[[Content | None], Content | None]) -> None:
        """Replace the content by what `change` makes of it; None leaves it as it is.

        Raises:
            OSError: it cannot be locked or written.
        """
        with self._locked():
            if (content := change(self.read())) is not None:
                self.write(content)

    def set_aside(self) -> Path | None:
        """Rename the file if it is damaged; return its new name, or None if it is sound or missing.

        Raises:
            OSError: it cannot be locked or renamed.
        """
        if self.read() is None and os.path.lexists(self._path):
            # Another program may repair it, or set it aside, meanwhile.
            with self._locked(), suppress(FileNotFoundError):
                if self.read() is None:
                    disk.check_ours(self._path)
                    return self._path.replace(self._path.with_suffix(".damaged"))
        return None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        from filelock import FileLock, Timeout

        disk.private_folder(self._path.parent)
        lock = FileLock(self._path.with_suffix(".lock"), mode=0o600)
        try:
            lock.acquire(timeout=LOCK_S, poll_interval=POLL_S)
        except Timeout:
            raise OSError(errno.EBUSY, "another program is changing it", str(self._path)) from None
        try:
            yield
        finally:
            lock.release()


def converted(value: Any, kind: type[Content]) -> Content | None:
    """Return a value of JSON as one of a kind; None if it is not one."""
    from msgspec import ValidationError, convert

    try:
        return convert(value, kind, str_keys=True, dec_hook=lambda kind, path: kind(path))
    except (ValidationError, RecursionError):
        return None
