"""Copies of the database: made whole and checked before they count, the newest five kept."""

import os
import sqlite3
import time
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from assistant.store import files
from assistant.store.database import connect, explained, is_damage
from assistant.store.schema import APPLICATION_ID, newest, version
from models.errors import StorageError

_KEPT = 5
_PAGES_AT_ONCE = 4096  # so that nobody who writes waits long
_MAX_RESTARTS = 20


def backups(path: Path) -> list[Path]:
    """Return a database's backups, newest first; what a wrong clock dated ahead comes last."""
    now = _stamp()
    return sorted(
        files.backups(path).glob("*.db"),
        key=lambda each: (each.stem <= now, each.stem),
        reverse=True,
    )


def age(path: Path) -> float:
    """Return how many seconds ago the newest backup was made; infinite if there is no such time."""
    newest = next(iter(backups(path)), None)
    seconds = time.time() - newest.stat().st_mtime if newest else -1
    return seconds if seconds >= 0 else float("inf")


def _stamp() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S-%f}"


def back_up(path: Path, patience_s: float = 0.0) -> Path | None:
    """Copy a database, check the copy and keep it; None while another instance does so.

    Only a copy that is sound takes the place of older ones.
    """
    folder = files.private_folder(files.backups(path))
    lock = FileLock(folder / "lock", mode=0o600, thread_local=False)
    with suppress(Timeout), explained(path), lock.acquire(timeout=patience_s):
        part = folder / "unfinished.part"
        part.unlink(missing_ok=True)
        files.private_file(part)
        _copy(path, part)
        if problem := check(part):
            files.suspect(path).touch(0o600)
            raise StorageError(
                f"{path} is damaged ({problem}), so it was not backed up. Start specchat again: it "
                "then repairs the file."
            )
        done = folder / f"{_stamp()}.db"
        part.rename(done)
        for old in backups(path)[_KEPT:]:
            old.unlink(missing_ok=True)
        return done
    return None


def _copy(path: Path, part: Path) -> None:
    left, restarts = float("inf"), 0

    def watch(_: int, remaining: int, total: int) -> None:
        nonlocal left, restarts
        restarts += remaining > left
        left = remaining
        if restarts > _MAX_RESTARTS:
            raise StorageError(
                f"{path} was too busy to be backed up. specchat will try again later."
            )

    with closing(connect(path, read_only=True)) as source, closing(connect(part)) as target:
        target.execute("PRAGMA synchronous = OFF")
        source.backup(target, pages=_PAGES_AT_ONCE, progress=watch, sleep=0.002)
        target.execute("PRAGMA journal_mode = DELETE")
    descriptor = os.open(part, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def restore(path: Path) -> Path | None:
    """Put the newest backup that is sound in a database's place, and return which it was."""
    for backup in backups(path):
        if _usable(backup):
            part = path.with_name(f"{path.name}.part")
            part.unlink(missing_ok=True)
            files.private_file(part)
            _copy(backup, part)
            part.rename(path)
            return backup
    return None


def _usable(backup: Path) -> bool:
    try:
        with closing(connect(backup, read_only=True)) as sql:
            ours: bool = sql.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
            return ours and version(sql) <= newest() and check(backup) is None
    except sqlite3.Error:
        return False


def check(path: Path) -> str | None:
    """Read a database from end to end, and return what is wrong with it."""
    try:
        with closing(connect(path, read_only=True)) as sql:
            found: str = sql.execute("PRAGMA quick_check(1)").fetchone()[0]
            return None if found == "ok" else found
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return str(error)
        raise
