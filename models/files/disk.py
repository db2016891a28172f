"""Free disk space, private files, and messages for disk errors."""

import errno
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import TypeVar

from models.errors import StorageError

_SPARE = 512_000_000
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
Kept = TypeVar("Kept")


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
    """Replace a file in one step, making its parent folders.

    Raises:
        OSError: it cannot be written.
    """
    private_folder(path.parent)
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        fresh.replace(path)
    except BaseException:  # an interrupt must not leave half a file
        fresh.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: object) -> None:
    """Replace a private file of JSON; paths in it need not be UTF-8.

    Raises:
        OSError: it cannot be written.
    """
    from msgspec import to_builtins  # slow to load, and --help needs none of it

    write_private(path, json.dumps(to_builtins(value, enc_hook=str)))


def read_json(path: Path, kind: type[Kept]) -> Kept | None:
    """Return the content of a file of JSON; None if it is missing, damaged or of another kind."""
    from msgspec import MsgspecError, convert

    try:
        value = json.loads(path.read_bytes())
        return convert(value, kind, str_keys=True, dec_hook=lambda kind, path: kind(path))
    except (OSError, ValueError, MsgspecError, RecursionError):
        return None


def private_folder(path: Path) -> None:
    """Make a private folder, and its parents.

    Raises:
        OSError: it cannot be made.
    """
    if not path.is_dir():
        private_folder(path.parent)  # mkdir's own parents would get the usual permissions
        path.mkdir(mode=0o700, exist_ok=True)
