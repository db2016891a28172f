"""Free disk space, private files, and messages for disk errors."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import BinaryIO

from models.errors import StorageError

_SPARE = 512_000_000
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


def require_room(folder: Path, needed: int) -> None:
    """Refuse a download that would not leave half a gigabyte free."""
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE:
        raise StorageError(
            f"{folder} has {_gigabytes(free)} free, but {_gigabytes(needed + _SPARE)} is needed. "
            "Make room, or choose another disk with HF_HOME or SPECCHAT_MODELS."
        )


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn a disk error into a `StorageError`."""
    try:
        yield
    except OSError as error:
        raise StorageError(_sentence(folder, error)) from error


def _sentence(folder: Path, error: OSError) -> str:
    place = error.filename or folder
    if error.errno in _FULL:
        return (
            f"The disk is full at {folder}. The downloaded part is kept; make room and pull again."
        )
    if error.errno in _FORBIDDEN:
        return (
            f"{place} cannot be written: {error.strerror}. Change its permissions, or choose "
            "another place with HF_HOME or SPECCHAT_MODELS."
        )
    return f"{place} cannot be written: {error.strerror or error}."


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB"


def write_private(path: Path, content: str | bytes) -> None:
    """Replace a file in one step, making its parent folders; it is on disk when this returns.

    Raises:
        OSError: it cannot be written, or something else than a file has its name.
    """
    private_folder(path.parent)
    check_ours(path)
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(descriptor)
        fresh.replace(path)
    except BaseException:  # an interrupt must not leave half a file
        fresh.unlink(missing_ok=True)
        raise


def check_ours(path: Path) -> None:
    """Check that a file of ours can be replaced or moved: a link, a pipe or a folder is the user's.

    Raises:
        OSError: it is none, or its folder cannot be searched.
    """
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file; move it away", str(path))


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; nothing else is waited for.

    Raises:
        OSError: it cannot be read, or is a pipe, a device or a folder.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def private_folder(path: Path) -> None:
    """Make a private folder, and its parents.

    Raises:
        OSError: it cannot be made.
    """
    if not path.is_dir():
        private_folder(path.parent)  # mkdir's own parents would get the usual permissions
        path.mkdir(mode=0o700, exist_ok=True)
