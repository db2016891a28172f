"""Room on the disk, and one sentence for each way in which a disk refuses."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from models.errors import StorageError

_SPARE = 512_000_000
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


def require_room(folder: Path, needed: int) -> None:
    """Refuse to begin what the disk cannot hold with half a gigabyte to spare."""
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE:
        raise StorageError(
            f"{folder} has {_gigabytes(free)} free, but {_gigabytes(needed + _SPARE)} are needed. "
            "Make room, or choose another disk with HF_HOME or SPECCHAT_MODELS."
        )


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Turn a refusal of the disk into a `StorageError`."""
    try:
        yield
    except OSError as error:
        raise StorageError(_sentence(folder, error)) from error


def _sentence(folder: Path, error: OSError) -> str:
    place = error.filename or folder
    if error.errno in _FULL:
        return f"The disk is full at {folder}. What arrived is kept; make room and pull again."
    if error.errno in _FORBIDDEN:
        return (
            f"{place} cannot be written: {error.strerror}. Mend its permissions, or choose another "
            "place with HF_HOME or SPECCHAT_MODELS."
        )
    return f"{place} cannot be written: {error.strerror or error}."


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB"
