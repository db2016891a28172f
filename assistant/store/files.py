"""The files of a store: the database and its permissions, its lock, and its daily backup."""

import fcntl
import os
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path

from assistant.store.database import APPLICATION_ID, VERSION, check, connect, identity, sql_errors
from models.errors import StorageError, raising
from models.files import disk
from models.files.places import data_dir

DAY_S = 86_400

_LOCK_TIMEOUT_S = 30.0


def database_path() -> Path:
    """Return the path of the database."""
    return data_dir() / "chats.db"


def present(path: Path) -> bool:
    """Return whether there is a database or a backup; True if that cannot be found out."""
    try:
        return path.exists() or any(path.with_suffix(".backups").glob("*.db"))
    except OSError:
        return True


def private_file(path: Path) -> None:
    """Create an empty file with mode 0600, or give an existing file that mode."""
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


def backup_path(path: Path) -> Path:
    """Return where a database's backup is, if there is one."""
    return path.with_suffix(".backups") / "chats.db"


def back_up(path: Path) -> Path | None:
    """Replace the backup, unless it is younger than a day; StorageError if that is impossible."""
    backup = backup_path(path)
    folder = backup.parent
    with raising(StorageError, f"No backup can be made in {folder}"):
        # A wrong clock may have dated it ahead; then its age is less than 0.
        if backup.exists() and 0 <= time.time() - backup.stat().st_mtime < DAY_S:
            return None
        disk.private_folder(folder)
        descriptor, name = tempfile.mkstemp(".part", dir=folder)
        part = Path(name)
        try:
            with sql_errors(path), closing(connect(path, read_only=True)) as sql:
                # The name may not be UTF-8, but SQLite wants a text.
                sql.execute("VACUUM INTO CAST(? AS TEXT)", (os.fsencode(name),))
            os.fsync(descriptor)
            part.rename(backup)
        finally:
            os.close(descriptor)
            part.unlink(missing_ok=True)
        for copy in folder.iterdir():  # a kill may have left unfinished ones
            if copy != backup:
                copy.unlink(missing_ok=True)
    return backup


def restore_backup(path: Path) -> Path | None:
    """Copy the backup to `path`, and return its own path; None if there is no sound one."""
    backup = backup_path(path)
    try:
        with closing(connect(backup, read_only=True)) as sql:
            if identity(sql)[:2] != (APPLICATION_ID, VERSION) or check(sql) is not None:
                return None
    except sqlite3.Error:
        return None
    part = path.with_name(f"{path.name}.part")
    private_file(part)
    shutil.copyfile(backup, part)
    part.rename(path)
    return backup


def discard_backup(path: Path) -> None:
    """Delete the backup of a database, because it holds text that was deleted from it."""
    for copy in backup_path(path).parent.glob("*"):
        copy.unlink(missing_ok=True)


class StoreLock:
    """A `flock` that all programs with the store open share; the system frees it when one dies.

    To create, check, repair or purge the file, a program must hold it alone.
    """

    def __init__(self, path: Path) -> None:
        """Take the lock: alone if it is free, else shared; StorageError after 30 seconds."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        self._descriptor = os.open(path.with_suffix(".lock"), flags, 0o600)
        self.is_exclusive = False  # whether no other program has the store open
        deadline = time.monotonic() + _LOCK_TIMEOUT_S
        while not self.try_exclusive() and not self._try(fcntl.LOCK_SH):
            if time.monotonic() > deadline:
                self.close()
                raise StorageError(
                    f"Another specchat is busy with {path}. Wait until it is done, and start again."
                )
            time.sleep(0.05)

    def try_exclusive(self) -> bool:
        """Try to hold the lock alone; call this last, a failure may lose the shared lock."""
        return self._try(fcntl.LOCK_EX)

    def share(self) -> None:
        """Let other programs open the store."""
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        self.is_exclusive = False

    def close(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self.is_exclusive = kind == fcntl.LOCK_EX
        return True
