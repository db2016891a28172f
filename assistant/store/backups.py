"""The daily copy of the database, from which a damaged one is restored."""

import os
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from assistant.store import files
from assistant.store.database import check, connect, explained
from assistant.store.schema import APPLICATION_ID, VERSION, identity
from models.errors import StorageError
from models.files import disk

DAY_S = 86_400


def place(path: Path) -> Path:
    """Return where a database's backup is, if there is one."""
    return path.with_suffix(".backups") / "chats.db"


def back_up(path: Path) -> Path | None:
    """Replace the backup by a copy of the database, unless it is younger than a day.

    Raises:
        StorageError: the database is damaged, or the copy cannot be written.
    """
    done = place(path)
    folder = done.parent
    try:
        # A wrong clock may have dated it ahead; then its age is less than 0.
        if done.exists() and 0 <= time.time() - done.stat().st_mtime < DAY_S:
            return None
        disk.private_folder(folder)
        descriptor, name = tempfile.mkstemp(".part", dir=folder)
        part = Path(name)
        try:
            with explained(path), closing(connect(path, read_only=True)) as sql:
                # The name may not be UTF-8, but SQLite wants a text.
                sql.execute("VACUUM INTO CAST(? AS TEXT)", (os.fsencode(name),))
            os.fsync(descriptor)
            part.rename(done)
        finally:
            os.close(descriptor)
            part.unlink(missing_ok=True)
        for each in folder.iterdir():  # copies that a kill left unfinished
            if each != done:
                each.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"No backup can be made in {folder} ({error.strerror}).") from error
    return done


def restore(path: Path) -> Path | None:
    """Copy the backup to `path`, and return its own path; None if there is no sound one."""
    backup = place(path)
    if not backup.exists() or not _usable(backup):
        return None
    part = path.with_name(f"{path.name}.part")
    files.private_file(part)
    shutil.copyfile(backup, part)
    part.rename(path)
    return backup


def discard(path: Path) -> None:
    """Delete the backup of a database, because it holds text that was deleted from it.

    Raises:
        OSError: it cannot be removed.
    """
    for each in place(path).parent.glob("*"):
        each.unlink(missing_ok=True)


def _usable(backup: Path) -> bool:
    try:
        with closing(connect(backup, read_only=True)) as sql:
            return identity(sql)[:2] == (APPLICATION_ID, VERSION) and check(sql) is None
    except sqlite3.Error:
        return False
