"""Which instances of specchat use a store now, and which conversations they have open."""

import sqlite3
import uuid
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from models.errors import StorageError

_KEY = "open by "
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


def enter(sql: sqlite3.Connection, presence: Presence, conversation: int | None) -> bool:
    """Note which conversation this instance has open; say whether another has it open, too."""
    sql.execute("DELETE FROM note WHERE key = ?", (_KEY + presence.id,))
    if conversation is None:
        return False
    sql.execute("INSERT INTO note VALUES (?, ?)", (_KEY + presence.id, str(conversation)))
    return conversation in open_elsewhere(sql, presence)


def open_elsewhere(sql: sqlite3.Connection, presence: Presence | None) -> set[int]:
    """Return the conversations that other instances have open."""
    if presence is None:
        return set()
    notes = sql.execute("SELECT key, value FROM note WHERE key GLOB ?", (f"{_KEY}*",)).fetchall()
    found = {key.removeprefix(_KEY): int(conversation) for key, conversation in notes}
    return {found[id_] for id_ in found.keys() - {presence.id} if presence.lives(id_)}


def forget_dead(sql: sqlite3.Connection, living: set[str]) -> None:
    """Remove what instances noted that are no more."""
    notes = sql.execute("SELECT key FROM note WHERE key GLOB ?", (f"{_KEY}*",)).fetchall()
    dead = [(key,) for (key,) in notes if key.removeprefix(_KEY) not in living]
    sql.executemany("DELETE FROM note WHERE key = ?", dead)
