"""Files of ours: free space, private and JSON files, and messages for disk errors."""

import errno
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import Any, BinaryIO, Generic, TypeVar

from models.errors import StorageError

SPARE = 512_000_000  # bytes that a download has to leave free
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
LOCK_S, POLL_S = 10.0, 0.005  # seconds to wait for another program's lock, and between two attempts
Content = TypeVar("Content")


def require_space(folder: Path, needed: int) -> None:
    """Refuse a download that would not leave half a gigabyte free."""
    free, needed = shutil.disk_usage(folder).free, needed + SPARE
    if free < needed:
        raise StorageError(
            f"{folder} has {free / 1e9:.2f} GB free, but {needed / 1e9:.2f} GB is needed. "
            "Make room, or choose another disk with HF_HOME or SPECCHAT_MODELS."
        )


def download_error_text(folder: Path, error: OSError) -> str:
    """Return the message for a disk error of a download to a folder, with what to do."""
    path = error.filename or folder
    if error.errno in _FULL:
        return f"The disk is full at {folder}. The part so far is kept; make room and pull again."
    if error.errno in _FORBIDDEN:
        return (
            f"{path} cannot be written: {error.strerror}. Change its permissions, or choose "
            "another place with HF_HOME or SPECCHAT_MODELS."
        )
    return f"{path} cannot be written: {error.strerror or error}."


def write_private(path: Path, content: str | bytes) -> None:
    """Replace a file atomically, making its parent folders; it is on disk when this returns."""
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
    """Refuse, by an `OSError`, to replace or move a link, a pipe or a folder: it is the user's."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            raise IrregularFile(path)


class IrregularFile(OSError):
    """A pipe, a device or a folder stands where a regular file is expected."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EINVAL, "it is not a regular file; move it away", str(path))


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; anything else is an `IrregularFile`, never waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise IrregularFile(path)


def private_folder(path: Path) -> None:
    """Make a private folder, and its parents."""
    if not path.is_dir():
        private_folder(path.parent)  # mkdir's own parents would get the usual permissions
        path.mkdir(mode=0o700, exist_ok=True)


class JsonFile(Generic[Content]):
    """A file that is replaced atomically, so reading needs no lock; changes are made under one.

    The lock beside the file is the system's, which releases it when its program ends. An `OSError`
    says that the file cannot be locked, written or renamed.
    """

    def __init__(self, path: Path, kind: type[Content]) -> None:
        self._path, self._kind = path, kind

    def read(self) -> Content | None:
        """Return the content; None if the file is missing, damaged or of another kind."""
        try:
            with open_regular(self._path) as file:
                return convert(json.load(file), self._kind)
        except (OSError, ValueError, RecursionError):
            return None

    def write(self, content: Content) -> None:
        """Replace the content; paths in it need not be UTF-8."""
        from msgspec import to_builtins  # slow to load, and --help needs none of it

        write_private(self._path, json.dumps(to_builtins(content, enc_hook=str)))

    def update(self, change: Callable[[Content | None], Content | None]) -> None:
        """Replace the content by what `change` makes of it; None leaves it as it is."""
        with self._lock():
            if (content := change(self.read())) is not None:
                self.write(content)

    def set_aside(self) -> Path | None:
        """Rename the file if it is damaged; return its new name, None if it is sound or missing."""
        if self.read() is None and os.path.lexists(self._path):
            # Another program may repair it or set it aside meanwhile.
            with self._lock(), suppress(FileNotFoundError):
                if self.read() is None:
                    check_ours(self._path)
                    return self._path.replace(self._path.with_suffix(".damaged"))
        return None

    @contextmanager
    def _lock(self) -> Iterator[None]:
        from filelock import FileLock, Timeout

        private_folder(self._path.parent)
        lock = FileLock(self._path.with_suffix(".lock"), mode=0o600)
        try:
            acquired = lock.acquire(timeout=LOCK_S, poll_interval=POLL_S)
        except Timeout:
            raise OSError(errno.EBUSY, "another program is changing it", str(self._path)) from None
        with acquired:
            yield


def convert(value: Any, kind: type[Content]) -> Content | None:
    """Return a value of JSON converted to a type; None if it does not fit."""
    from msgspec import ValidationError, convert

    try:
        return convert(value, kind, str_keys=True, dec_hook=lambda kind, path: kind(path))
    except (ValidationError, RecursionError):
        return None


MAX_RECORDS = 64  # the oldest entry is dropped first
Value = TypeVar("Value")


class Records(Generic[Value]):
    """Measured values by the conditions under which they hold, in one private JSON file.

    The file is only a cache: a damaged one is ignored. Without a folder nothing is stored.
    """

    def __init__(self, folder: Path | None, name: str, kind: type[Value]) -> None:
        self._file, self._kind = folder and JsonFile(folder / name, dict[str, Any]), kind

    def get(self, key: str) -> Value | None:
        """Return the value of a key, if it is of the right type."""
        return convert(self._read().get(key), self._kind)

    def newest(self, prefix: str) -> Value | None:
        """Return the newest value of the keys with a prefix, if it is of the right type."""
        values = [value for key, value in self._read().items() if key.startswith(prefix)]
        return convert(values[-1], self._kind) if values else None

    def put(self, key: str, value: Value) -> None:
        """Store a value atomically; an `OSError` says why that cannot be done."""

        def with_value(records: dict[str, Any] | None) -> dict[str, Any]:
            others = [item for item in (records or {}).items() if item[0] != key]
            return dict([*others, (key, value)][-MAX_RECORDS:])

        if self._file:
            self._file.update(with_value)

    def save(self, key: str, value: Value) -> None:
        """Store a value, if the file can be written: else it is measured again."""
        with suppress(OSError):
            self.put(key, value)

    def _read(self) -> dict[str, Any]:
        return (self._file and self._file.read()) or {}
