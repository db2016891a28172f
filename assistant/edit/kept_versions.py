"""The last version of each edited file, from which an edit is taken back."""

import os
import shlex
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from assistant.edit import text_file
from assistant.edit.comparison import patch
from models.errors import StorageError, UsageError
from models.files import disk
from models.files.places import data_dir

MOST = 200
"""Files of which a version is kept; the oldest goes first."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a file was before an edit, and what it became."""

    before: bytes
    after: str  # the sha256


def write(file: text_file.TextFile, new: bytes, before: bytes | None) -> None:
    """Replace a file, and keep what it was `before`, if that is given, to be brought back.

    Raises:
        StorageError: it has changed meanwhile, or one of both cannot be written.
    """
    text_file.check_writable(file.path)
    text_file.check_unchanged(file.path, file.data)  # or the last edit could not be taken back
    if before is not None:
        _keep(file.path, before, new)
    text_file.replace(file.path, file.data, new)


def undo(path: Path) -> None:
    """Bring back what a file was before its last edit; once more, what it was before that.

    Raises:
        UsageError: nothing is kept of it, or it has changed since.
        StorageError: it cannot be written.
    """
    version, now = _last(path), text_file.read(path)
    if now.data == version.before:
        raise UsageError(f"{path} is already as it was before the last edit.")
    if _digest(now.data) != version.after:
        raise UsageError(
            f"{path} has changed since its last edit, so nothing was undone. "
            f"See what it was: {undoing(path)} --diff"
        )
    write(now, version.before, now.data)


def undoing(path: Path) -> str:
    """Return the command that takes the last edit of a file back."""
    name = f"./{path}" if str(path).startswith("-") else str(path)
    return f"specchat edit --undo {shlex.quote(name)}"


def patch_back(path: Path) -> bytes:
    """Return the patch that brings back what a file was before its last edit.

    Raises:
        UsageError: nothing is kept of it, or it cannot be read.
    """
    return patch(path, text_file.read(path).data, _last(path).before)


def _last(path: Path) -> Version:
    try:
        return msgspec.msgpack.decode(_place(path).read_bytes(), type=Version)
    except (OSError, msgspec.MsgspecError):
        raise UsageError(
            f"No earlier version of {path} is kept: specchat has not edited it."
        ) from None


def _keep(path: Path, before: bytes, after: bytes) -> None:
    place = _place(path)
    version = Version(before, _digest(after))
    try:
        disk.write_private(place, msgspec.msgpack.encode(version))
        kept = sorted(place.parent.iterdir(), key=lambda each: each.stat().st_mtime)
        for each in kept[:-MOST]:
            each.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"The old version of {path} cannot be kept in {place.parent} ({error.strerror}), so "
            "nothing was written. With --no-save none is kept."
        ) from error


def _place(path: Path) -> Path:
    return data_dir() / "edits" / _digest(os.fsencode(path.resolve()))[:32]


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
