"""Snapshots of the KV cache on disk, so that a conversation need not be evaluated again.

A file has a magic number, a checksum of the rest, the identity of its owner, two lengths, the token
ids and the state. All files are in one private folder of limited size, from which the least
recently used are removed first. The folder stays open: once it is discarded no file can be added,
so nothing computed before a deletion reaches the disk after it.
"""

import errno
import os
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, NamedTuple

from models.files.disk import private_folder
from models.files.places import cache_dir

MAGIC = b"specchat KV cache 1\n"
SUFFIX = ".kv"
SPARE = 1 << 30  # bytes of the disk that snapshots leave free
_CHECKSUM = 32
_HEAD = struct.Struct(f"<{len(MAGIC)}s{_CHECKSUM}s{_CHECKSUM}sIQ")
_SUMMED = len(MAGIC) + _CHECKSUM  # offset of the checksummed part
_STALE_S = 3600


class FoundSnapshot(NamedTuple):
    """A snapshot whose checksum has not been verified."""

    name: str
    tokens: list[int]


def folder() -> Path:
    """Return where snapshots are."""
    return cache_dir() / "snapshots"


def discard(path: Path) -> None:
    """Remove all snapshots; instances that hold the folder open write no more."""
    with suppress(FileNotFoundError):  # another process was faster
        while path.exists():
            for file in path.iterdir():
                file.unlink(missing_ok=True)
            try:
                path.rmdir()
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # one was written meanwhile
                    raise


class Snapshots:
    """The snapshots of one identity: the model, and everything its cache depends on.

    Those of other identities are ignored, but `budget` is what all may take together, in bytes.
    """

    def __init__(self, path: Path, identity: str, budget: int) -> None:
        private_folder(path)
        self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        os.fchmod(self._folder, 0o700)
        self._identity = blake2b(os.fsencode(identity), digest_size=_CHECKSUM).digest()
        self._budget = budget

    def find(self) -> Iterator[FoundSnapshot]:
        """Yield all snapshots of this identity, the last used first."""
        for name, _ in self._by_use(SUFFIX):
            with suppress(OSError, ValueError), self._open(name) as file:
                yield FoundSnapshot(name, self._read_head(file)[1])

    def read(self, name: str) -> tuple[list[int], memoryview]:
        """Return the tokens and the state of a snapshot, and mark it as used.

        An `OSError` says that it has gone, a `ValueError` that it is damaged.
        """
        with self._open(name) as file:
            checksum, tokens = self._read_head(file)
            file.seek(_SUMMED)
            data = memoryview(file.read())
        if blake2b(data, digest_size=_CHECKSUM).digest() != checksum:
            raise ValueError(f"{name} is damaged")
        os.utime(name, dir_fd=self._folder)
        return tokens, data[_HEAD.size - _SUMMED + _ids(len(tokens)).size :]

    def write(self, tokens: Sequence[int], state: memoryview) -> None:
        """Write a snapshot that replaces the ones it continues; skip one that is too large."""
        ids = _ids(len(tokens)).pack(*tokens)
        size = _HEAD.size + len(ids) + len(state)
        disk = os.fstatvfs(self._folder)
        if size > min(self._budget, disk.f_bavail * disk.f_frsize - SPARE):
            return
        head = _HEAD.pack(MAGIC, bytes(_CHECKSUM), self._identity, len(tokens), len(state))
        digest = blake2b(head[_SUMMED:], digest_size=_CHECKSUM)
        digest.update(ids)
        digest.update(state)
        name = digest.hexdigest() + SUFFIX
        with self._fresh(name) as file:
            file.writelines((MAGIC, digest.digest(), head[_SUMMED:], ids, state))
        for other in list(self.find()):
            if other.name != name and other.tokens == list(tokens[: len(other.tokens)]):
                self.remove(other.name)
        self._shrink()

    def remove(self, name: str) -> None:
        """Remove a file of the folder, if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._folder)

    def close(self) -> None:
        """Close the folder."""
        os.close(self._folder)

    def _read_head(self, file: BinaryIO) -> tuple[bytes, list[int]]:
        """Return the checksum and the tokens of a complete snapshot of this identity."""
        head = file.read(_HEAD.size)
        if len(head) == _HEAD.size:
            magic, checksum, identity, count, state = _HEAD.unpack(head)
            size = _HEAD.size + _ids(count).size + state
            whole = os.fstat(file.fileno()).st_size == size
            if whole and magic == MAGIC and identity == self._identity:
                return checksum, list(_ids(count).unpack(file.read(_ids(count).size)))
        raise ValueError("this is not a snapshot")

    def _open(self, name: str) -> BinaryIO:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe is not waited for
        return os.fdopen(os.open(name, flags, dir_fd=self._folder), "rb")

    @contextmanager
    def _fresh(self, name: str) -> Iterator[BinaryIO]:
        """Write a file atomically; if that fails, no part of it stays."""
        part = f"{name}.{os.getpid()}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(part, flags, 0o600, dir_fd=self._folder), "wb") as file:
                yield file
            os.replace(part, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except BaseException:  # an interrupt must not leave half a file
            self.remove(part)
            raise

    def _shrink(self) -> None:
        """Remove the least recently used beyond the budget, and stale partial files."""
        left = self._budget
        for name, status in self._by_use(SUFFIX):
            left -= status.st_size
            if left < 0:
                self.remove(name)
        for name, status in self._by_use(".part"):
            if time.time() - status.st_mtime > _STALE_S:
                self.remove(name)

    def _by_use(self, suffix: str) -> list[tuple[str, os.stat_result]]:
        files = []
        for name in filter(lambda name: name.endswith(suffix), os.listdir(self._folder)):
            with suppress(FileNotFoundError):
                files.append((name, os.stat(name, dir_fd=self._folder, follow_symlinks=False)))
        return sorted(files, key=lambda file: -file[1].st_mtime_ns)


def _ids(count: int) -> struct.Struct:
    return struct.Struct(f"<{count}i")
