"""Which instances of specchat use a database now: each holds a lock for as long as it lives."""

import uuid
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from models.errors import StorageError

_PREFIX = "instance-"


class Presence:
    """This instance's mark. The system takes the lock back however the instance ends."""

    def __init__(self, folder: Path) -> None:
        # Only made and looked for while `files.opening` is held: a mark is never seen unlocked.
        self.id = uuid.uuid4().hex
        self._folder = folder
        self._lock = self._of(self.id)
        try:
            self._lock.acquire(timeout=0)
        except OSError as error:
            raise StorageError(f"{folder} cannot be written ({error.strerror}).") from error

    def others(self) -> set[str]:
        """Return the other instances that live, and clear away the marks of dead ones."""
        found = (path.name.removeprefix(_PREFIX) for path in self._folder.glob(f"{_PREFIX}*"))
        return {id_ for id_ in found if id_ != self.id and self._lives(id_)}

    def lives(self, id_: str) -> bool:
        """Return whether an instance lives, of one that was known to."""
        return self._path(id_).exists() and self._lives(id_)

    def close(self) -> None:
        """Take the mark away."""
        self._remove(self.id)
        self._lock.release()

    def _lives(self, id_: str) -> bool:
        lock = self._of(id_)
        try:
            lock.acquire(timeout=0)
        except (Timeout, OSError):
            return True
        self._remove(id_)
        lock.release()
        return False

    def _of(self, id_: str) -> FileLock:
        return FileLock(self._path(id_), mode=0o600, thread_local=False)

    def _remove(self, id_: str) -> None:
        with suppress(OSError):
            self._path(id_).unlink(missing_ok=True)

    def _path(self, id_: str) -> Path:
        return self._folder / f"{_PREFIX}{id_}"
