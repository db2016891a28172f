"""The version of each edited file before its last edit, from which it can be restored."""

import os
import shlex
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from assistant.edit import text_file
from assistant.edit.comparison import patch
from assistant.session.attachments import contents
from models.errors import StorageError, UsageError, raising
from models.files import disk
from models.files.places import data_dir

MAX_VERSIONS = 200  # the oldest one is removed first
DIGITS = 32  # of a digest in a name


def write(file: text_file.TextFile, new: bytes, before: bytes | None) -> None:
    """Replace a file; save the content `before`, if given, so that it can be restored.

    The version that an earlier edit saved stays until the file is replaced: each belongs to the
    contents before and after its edit. StorageError if the file has changed meanwhile, or it or its
    version cannot be written.
    """
    if before is None or file.missing:
        text_file.replace(file.path, None if file.missing else file.data, new)
        return
    text_file.check_writable(file.path)
    earlier, version = _versions(file.path), _save(file.path, before, new)
    try:
        text_file.replace(file.path, file.data, new)
    except StorageError:
        with suppress(OSError, UsageError):  # a disk that may not be written keeps it
            if version not in earlier and contents(file.path, str(file.path)) != new:
                version.unlink()  # no program has written the new content
        raise
    with suppress(OSError):  # it is the version of what the file is now in any case
        _remove_others(file.path, version)


def undo(path: Path) -> None:
    """Restore a file to its content before its last edit; a second time, undo that.

    UsageError if no version is saved, or the file has changed since.
    """
    now = text_file.read(path)
    before, is_last = _before(path, now.data)
    if now.data == before:
        raise UsageError(f"{path} is already as it was before the last edit.")
    if not is_last:
        raise UsageError(
            f"{path} has changed since its last edit, so it stays as it is. "
            f"See what it was: {undo_command(path)} --diff"
        )
    write(now, before, now.data)


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
            _save(path, edited, file.data)
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
    return patch(path, now, _before(path, now)[0])


def _before(path: Path, now: bytes) -> tuple[bytes, bool]:
    """Return the content before the edit that led to `now`, and whether there was one.

    Otherwise the content is that before another edit; UsageError if there was none.
    """
    digest = _digest(now)

    def rank(version: Path) -> tuple[bool, bool, float]:
        _, after, *before = version.name.split(".")
        return after != digest, before == [digest], -version.lstat().st_mtime

    with raising(StorageError, f"{_prefix(path).parent} cannot be read"):
        versions = sorted(_versions(path), key=rank)
    for version in versions:
        with suppress(OSError), disk.open_regular(version) as file:
            return file.read(), version.name.split(".")[1] == digest
    raise UsageError(f"No earlier version of {path} is kept: specchat has not edited it.")


def _save(path: Path, before: bytes, after: bytes) -> Path:
    version = Path(f"{_prefix(path)}.{_digest(after)}.{_digest(before)}")
    what = f"The old version of {path} cannot be kept in {version.parent}"
    with raising(StorageError, what, " Nothing was written. With --no-save none is kept."):
        disk.write_private(version, before)
    return version


def _remove_others(path: Path, version: Path) -> None:
    """Remove other versions of a file, and the oldest ones of all files, but not this one."""
    for other in {*_versions(path)} - {version}:
        disk.check_ours(other)
        other.unlink()
    saved = sorted({*version.parent.iterdir()} - {version}, key=lambda path: path.stat().st_mtime)
    for path in saved[: 1 - MAX_VERSIONS]:
        path.unlink(missing_ok=True)


def _versions(path: Path) -> list[Path]:
    """Return the versions of a file, of which killed edits have left more than one."""
    prefix = _prefix(path)
    saved = prefix.parent.glob(f"{prefix.name}.*")
    return [version for version in saved if len(version.suffix) > DIGITS]  # not half written


def _prefix(path: Path) -> Path:
    return data_dir() / "edits" / _digest(os.fsencode(path.resolve()))


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:DIGITS]
