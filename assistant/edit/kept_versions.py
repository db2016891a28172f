"""The version of each edited file before its last edit, from which it can be restored."""

import os
import shlex
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

import msgspec

from assistant.edit import text_file
from assistant.edit.comparison import patch
from assistant.session.attachments import contents
from models.errors import StorageError, UsageError, raising
from models.files import disk
from models.files.places import data_dir

MAX_VERSIONS = 200  # the oldest one is removed first
LEFT_S = 86_400  # after which a pending version must have been left by a killed program


@dataclass(frozen=True, slots=True)
class Version:
    """The content of a file before an edit, and the digest of the content after it."""

    before: bytes
    after: str  # the sha256


def write(file: text_file.TextFile, new: bytes, before: bytes | None) -> None:
    """Replace a file; save the content `before`, if given, so that it can be restored.

    The version that an earlier edit saved stays until the file is replaced. StorageError if it has
    changed meanwhile, or the file or its version cannot be written.
    """
    if before is None or file.missing:
        text_file.replace(file.path, None if file.missing else file.data, new)
        return
    text_file.check_writable(file.path)
    stored = _stored_path(file.path)
    pending = stored.with_suffix(f".{token_hex(8)}")
    _save(file.path, pending, Version(before, _digest(new)))
    try:
        text_file.replace(file.path, file.data, new)
    except StorageError:
        with suppress(OSError):  # a disk that may not be written keeps it
            pending.unlink()
        raise
    with suppress(OSError):  # it is found under the other name, too
        pending.replace(stored)
        _remove_oldest(stored.parent)


def undo(path: Path) -> None:
    """Restore a file to its content before its last edit; a second time, undo that.

    UsageError if no version is saved, or the file has changed since.
    """
    now = text_file.read(path)
    version = _last(path, now.data)
    if now.data == version.before:
        raise UsageError(f"{path} is already as it was before the last edit.")
    if _digest(now.data) != version.after:
        raise UsageError(
            f"{path} has changed since its last edit, so it stays as it is. "
            f"See what it was: {undo_command(path)} --diff"
        )
    write(now, version.before, now.data)


def restore(file: text_file.TextFile, edited: bytes, saves: bool) -> str:
    """Restore a file to its content before it was `edited`; return a sentence about it.

    With `saves`, the present content is saved, and can be restored in turn; without, StorageError
    if it has changed.
    """
    path = file.path
    if not os.path.lexists(path) and file.missing:
        return f"As before: {path}."
    if not os.path.lexists(path):
        if saves:
            _save(path, _stored_path(path), Version(edited, _digest(file.data)))
        with raising(StorageError, f"{path} cannot be made again"), path.open("xb") as new:
            new.write(file.data)
        return f"{path} was removed since it was written. It is there again, as before."
    if path.resolve() != file.real:  # and what it leads to was never edited
        raise StorageError(f"{path} is a link to another file now, which stays as it is.")
    now = contents(path, str(path))
    if now == edited:
        text_file.remove(file) if file.missing else text_file.replace(path, edited, file.data)
        return f"As before: {path}."
    if not saves:
        raise StorageError(f"{path} has changed since it was written, and stays as it is now.")
    write(replace(file, data=now), file.data, now)
    return (
        f"{path} had changed since it was written. It is as before the edit; {undo_command(path)} "
        "brings back what it had become."
    )


def undo_command(path: Path) -> str:
    """Return the command that undoes the last edit of a file."""
    name = f"./{path}" if str(path).startswith("-") else str(path)
    return f"specchat edit --undo {shlex.quote(name)}"


def undo_patch(path: Path) -> bytes:
    """Return the patch that undoes the last edit of a file; UsageError if no version is saved."""
    now = text_file.read(path).data
    return patch(path, now, _last(path, now).before)


def _last(path: Path, now: bytes) -> Version:
    """Return the version before the last edit; `now` is the present content.

    A killed program may have left further versions, of edits that were done or not.
    """
    stored, versions = _stored_path(path), list[Version]()
    with raising(StorageError, f"{stored.parent} cannot be read"):
        paths = sorted(stored.parent.glob(f"{stored.name}*"))
    for version_path in paths:
        with suppress(OSError, msgspec.MsgspecError), disk.open_regular(version_path) as saved:
            versions.append(msgspec.msgpack.decode(saved.read(), type=Version))
    if not versions:
        raise UsageError(f"No earlier version of {path} is kept: specchat has not edited it.")
    return next((version for version in versions if version.after == _digest(now)), versions[0])


def _save(path: Path, pending: Path, version: Version) -> None:
    what = f"The old version of {path} cannot be kept in {pending.parent}"
    with raising(StorageError, what, " Nothing was written. With --no-save none is kept."):
        disk.check_ours(_stored_path(path))
        disk.write_private(pending, msgspec.msgpack.encode(version))


def _remove_oldest(folder: Path) -> None:
    """Remove the oldest versions, and files that killed programs left half written."""
    times = {path: path.stat().st_mtime for path in folder.iterdir()}
    saved = sorted((path for path in times if not path.suffix), key=times.__getitem__)
    left = [path for path in times if path.suffix and time.time() - times[path] > LEFT_S]
    for path in (*saved[:-MAX_VERSIONS], *left):
        path.unlink(missing_ok=True)


def _stored_path(path: Path) -> Path:
    return data_dir() / "edits" / _digest(os.fsencode(path.resolve()))[:32]


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
