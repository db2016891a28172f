"""The files of a store: the database, its path and permissions, and its lock."""

import fcntl
import os
import time
from datetime import datetime
from pathlib import Path

from models.errors import StorageError
from models.files.places import data_dir

_LOCK_TIMEOUT_S = 30.0


def place() -> Path:
    """Return the path of the database; StorageError if there is no home folder."""
    try:
        path = data_dir() / "chats.db"
    except RuntimeError:  # the home folder is unknown
        path = Path()
    if path.is_absolute():
        return path
    raise StorageError(
        "There is no home folder to keep conversations in. Set SPECCHAT_HOME to a folder."
    )


def present(path: Path) -> bool:
    """Return whether there is a database or a backup; True if that cannot be found out."""
    try:
        return path.exists() or any(path.with_suffix(".backups").glob("*.db"))
    except OSError:
        return True


def private_file(path: Path) -> None:
    """Create an empty file with mode 0600, or give an existing file that mode.

    Raises:
        OSError: it cannot be written.
    """
    if path.exists() and not path.is_file():
        raise StorageError(f"{path} is not a file. Move it away, or set SPECCHAT_HOME.")
    # SQLite would create it with the usual mode.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)


def writable(path: Path) -> bool:
    """Return whether a database can be changed: its folder must be writable for the journal."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def move_aside(path: Path) -> Path:
    """Rename a database and its journal, and return its new name."""
    aside = path.with_name(f"{path.name}.corrupt-{datetime.now():%Y%m%d-%H%M%S-%f}")
    for ending in ("", "-journal", "-wal", "-shm"):
        companion = path.with_name(path.name + ending)
        # An empty journal needs no rollback and can stay.
        if companion.exists() and (companion == path or companion.stat().st_size):
            companion.rename(aside.with_name(aside.name + ending))
    return aside


class StoreLock:
    """A `flock` that all programs with the store open share; the system frees it when one dies.

    To create, check, repair or purge the file, a program must hold it alone.
    """

    def __init__(self, path: Path) -> None:
        """Take the lock: alone if it is free, else shared.

        Raises:
            OSError: the lock file cannot be created.
            StorageError: another program has held it alone for 30 seconds.
        """
        self._descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        self.alone = False
        """Whether no other program has the store open."""
        deadline = time.monotonic() + _LOCK_TIMEOUT_S
        while not self.take_alone() and not self._take(fcntl.LOCK_SH):
            if time.monotonic() > deadline:
                self.close()
                raise StorageError(
                    f"Another specchat is busy with {path}. Wait until it is done, and start again."
                )
            time.sleep(0.05)

    def take_alone(self) -> bool:
        """Try to hold the lock alone; call this last, a failure may lose the shared lock."""
        return self._take(fcntl.LOCK_EX)

    def share(self) -> None:
        """Let other programs open the store."""
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        self.alone = False

    def close(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)

    def _take(self, kind: int) -> bool:
        try:
            fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self.alone = kind == fcntl.LOCK_EX
        return True
