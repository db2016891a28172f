"""The database's file and those beside it: where they are, who may read them, moving them aside."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path

from filelock import FileLock, Timeout

from models.errors import StorageError
from models.files import disk
from models.files.places import data_dir

_COMPANIONS = ("", "-journal", "-wal", "-shm")
_OPENING_TIMEOUT_S = 30.0


def place() -> Path:
    """Return where the conversations are, or say that there is no such place."""
    try:
        path = data_dir() / "chats.db"
    except RuntimeError:  # nobody's home is known
        path = Path()
    if path.is_absolute():
        return path
    raise StorageError(
        "There is no home folder to keep conversations in. Set SPECCHAT_HOME to a folder."
    )


def present(path: Path) -> bool:
    """Return whether there is something to open; what cannot be told is told by opening it."""
    try:
        return path.exists()
    except OSError:
        return True


def backups(path: Path) -> Path:
    """Return the folder of a database's backups."""
    return path.with_suffix(".backups")


def running(path: Path) -> Path:
    """Return the folder in which the instances that use a database are noted."""
    return path.with_suffix(".running")


def suspect(path: Path) -> Path:
    """Return the file whose presence asks for a thorough check when the database is opened."""
    return running(path) / "suspect"


def private_folder(path: Path) -> Path:
    """Make a folder that nobody else may enter, unless it is there already."""
    try:
        disk.private_folder(path)
    except OSError as error:
        raise StorageError(
            f"The folder {path} cannot be made ({error.strerror}), so conversations are not kept. "
            "Set SPECCHAT_HOME to a folder that can be written."
        ) from error
    return path


def private_file(path: Path) -> None:
    """Make an empty file that nobody else may read; one that is there already becomes private."""
    try:
        if path.exists() and not path.is_file():
            raise StorageError(f"{path} is not a file. Move it away, or set SPECCHAT_HOME.")
        # Before SQLite opens it, which would let others read it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written ({error.strerror}), so conversations are not kept. "
            "Make it writable, or set SPECCHAT_HOME to another folder."
        ) from error


def writable(path: Path) -> bool:
    """Return whether a database can be changed: the folder must take a journal, too."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Let one instance at a time check, repair and migrate a database."""
    lock = FileLock(private_folder(running(path)) / "opening", mode=0o600, thread_local=False)
    try:
        held = lock.acquire(timeout=_OPENING_TIMEOUT_S)
    except Timeout as error:
        raise StorageError(
            f"Another specchat is busy with {path}. Wait until it is done, and start again."
        ) from error
    except OSError as error:
        raise StorageError(f"{path} cannot be locked ({error.strerror}).") from error
    with held:
        yield


def move_aside(path: Path) -> Path:
    """Rename a database and its journal, and return its new name."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    numbered = (f"{path.name}.corrupt-{stamp}-{number}" for number in count(2))
    names = chain([f"{path.name}.corrupt-{stamp}"], numbered)
    aside = next(each for name in names if not (each := path.with_name(name)).exists())
    for ending in _COMPANIONS:
        companion = path.with_name(path.name + ending)
        # An empty journal means nothing and may stay.
        if companion.exists() and (companion == path or companion.stat().st_size):
            companion.rename(aside.with_name(aside.name + ending))
    return aside
