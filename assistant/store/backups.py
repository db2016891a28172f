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


def backups(path: Path) -> list[Path]:
    """Return a database's backups, newest first: usually one."""
    folder = _folder(path)
    return sorted(folder.glob("*.db"), key=lambda each: each.stat().st_mtime, reverse=True)


def back_up(path: Path, older_than_s: float) -> Path | None:
    """Replace the backup by a copy of the database, unless it is younger than `older_than_s`.

    Raises:
        StorageError: the database is damaged, or the copy cannot be written.
    """
    ages = [time.time() - each.stat().st_mtime for each in backups(path)]
    if any(0 <= age < older_than_s for age in ages):  # less than 0: a wrong clock dated it ahead
        return None
    folder = _folder(path)
    try:
        disk.private_folder(folder)
        descriptor, name = tempfile.mkstemp(".part", dir=folder)
        part, done = Path(name), folder / "chats.db"
        try:
            with explained(path), closing(connect(path, read_only=True)) as sql:
                # The name may not be UTF-8, but SQLite wants a text.
                sql.execute("VACUUM INTO CAST(? AS TEXT)", (os.fsencode(name),))
            os.fsync(descriptor)
            part.rename(done)
        finally:
            os.close(descriptor)
            part.unlink(missing_ok=True)
        for each in folder.iterdir():  # unfinished copies, and backups of earlier programs
            if each != done:
                each.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"No backup can be made in {folder} ({error.strerror}).") from error
    return done


def restore(path: Path) -> Path | None:
    """Copy the newest sound backup to `path`, and return its own path; None if none is sound."""
    for backup in backups(path):
        if _usable(backup):
            part = path.with_name(f"{path.name}.part")
            files.private_file(part)
            shutil.copyfile(backup, part)
            part.rename(path)
            return backup
    return None


def discard(path: Path) -> None:
    """Delete the backups of a database, because they hold text that was deleted from it.

    Raises:
        StorageError: one cannot be removed.
    """
    for each in _folder(path).glob("*"):
        try:
            each.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(
                f"What was deleted is still in {each}, which cannot be removed ({error.strerror})."
            ) from error


def _usable(backup: Path) -> bool:
    try:
        with closing(connect(backup, read_only=True)) as sql:
            return identity(sql)[:2] == (APPLICATION_ID, VERSION) and check(sql) is None
    except sqlite3.Error:
        return False


def _folder(path: Path) -> Path:
    return path.with_suffix(".backups")
