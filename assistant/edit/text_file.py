"""A text file to be edited: its text, its encoding and line ends, and a safe replacement."""

import dataclasses
import os
import re
import shutil
import stat
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from operator import add
from pathlib import Path
from secrets import token_hex

from assistant.edit.comparison import pair_lines
from assistant.session.attachments import contents
from assistant.streamed_text import decode
from models.errors import StorageError, UsageError, raising

END = re.compile(r"\r\n|\n|\r")
COPY = ".specchat-"
"""The prefix of a copy's name. Random digits and their digest follow, so that no other file is
taken for a copy. The file's own name is not part of it: it may be too long."""
LEFT_S = 60.0  # after which a copy must have been left by a killed program


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file as it was read; each line of its text ends with a newline alone."""

    path: Path  # as the user calls it
    data: bytes
    text: str
    encoding: str  # as `decode` names it
    bom: bytes
    real: Path = Path()  # the file itself, where its path is a link
    missing: tuple[Path, ...] = ()  # of a new file: its path, and the folders to be made for it

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines, without newlines at the end of the file."""
        return tuple(self.text.rstrip("\n").split("\n"))

    def encode(self, text: str) -> bytes:
        """Return the bytes of a new text: with the BOM, line ends and last newline of the old one.

        UsageError if the encoding of the file lacks a character.
        """
        bare = self.text.rstrip("\n")
        text = END.sub("\n", text).rstrip("\n") + (self.text[len(bare) :] if bare else "\n")
        try:
            return self.bom + self._with_line_ends(text).encode(self.encoding)
        except UnicodeEncodeError as error:
            raise UsageError(
                f"{self.path} is {self.encoding}, which has no {error.object[error.start]!r}. "
                "Nothing was written; convert the file to UTF-8 first."
            ) from None

    def _with_line_ends(self, text: str) -> str:
        """Return a text with each old line's own end, and the usual one elsewhere."""
        ends = END.findall(self.data[len(self.bom) :].decode(self.encoding))
        usual = Counter(ends).most_common(1)[0][0] if ends else "\n"
        if len(set(ends)) < 2:
            return text.replace("\n", usual)
        old, new = self.text.split("\n"), text.split("\n")
        own = [usual] * (len(new) - 1)
        for i, j in pair_lines(old[:-1], new[:-1]):
            own[j] = ends[i]
        return "".join(map(add, new, [*own, ""]))


def parse(path: Path, data: bytes) -> TextFile:
    """Return bytes as a text file; UsageError if they are no text."""
    text, encoding, bom = decode(data, str(path))
    return TextFile(path, data, END.sub("\n", text), encoding, bom)


def read(path: Path) -> TextFile:
    """Read a file that is to be edited; UsageError if it is no text, too large, or unreadable."""
    return dataclasses.replace(parse(path, contents(path, str(path))), real=path.resolve())


def new(path: Path) -> TextFile:
    """Return a file that is not there yet."""
    missing = (part for part in (path, *path.parents) if not os.path.lexists(part))
    return TextFile(path, b"", "", "utf-8", b"", path.resolve(), tuple(missing))


def check_writable(path: Path) -> None:
    """Check that a file can be replaced, before its new version is made; StorageError if not."""
    real, why = path.resolve(), ""
    with raising(StorageError, f"{path} cannot be read any more"):
        state = real.stat()
    if not stat.S_ISREG(state.st_mode):
        why = "it is not a file"
    elif not state.st_mode & 0o222 or not os.access(real, os.W_OK):
        why = "it is read-only"
    elif not os.access(real.parent, os.W_OK | os.X_OK):
        why = f"its folder {real.parent} is read-only"
    elif os.geteuid() not in (0, state.st_uid):
        why = "it belongs to another user"
    elif state.st_nlink > 1:
        why = "it has other names (hard links), which would keep the old version"
    if why:
        raise StorageError(f"{path} cannot be replaced: {why}. Change that first.")


def check_unchanged(path: Path, old: bytes | None) -> None:
    """Check that a file is as it was read, or is missing; StorageError if not, or if unreadable."""
    try:
        same = not os.path.lexists(path) if old is None else contents(path, str(path)) == old
    except UsageError as error:
        raise StorageError(str(error)) from error
    if not same:
        raise StorageError(f"{path} has changed meanwhile; nothing was written.")


def remove(file: TextFile) -> None:
    """Remove a file that was new, and its new folders."""
    with raising(StorageError, f"{file.path} cannot be removed"):
        file.path.unlink()
    with suppress(OSError):  # other files are in it
        for folder in file.missing[1:]:
            folder.rmdir()


def replace(path: Path, old: bytes | None, new: bytes) -> None:
    """Replace the content of a file in one step: at any moment it is the old or the new one.

    A link stays a link; mode, owner and attributes stay as they are. Without an `old` content the
    file is made, with its folders. StorageError if the file has changed since `old` was read, is
    there though it was not, or cannot be written.
    """
    real, intact = path.resolve(), "" if old is None else " It is intact."
    with raising(StorageError, f"{path} cannot be written", intact):
        if old is None:
            real.parent.mkdir(parents=True, exist_ok=True)
        else:
            check_writable(path)
        _remove_left_copies(real.parent)
        name = real.parent / _copy_name(token_hex(8))
        mode = 0o666 if old is None else 0o600
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(new)
                file.flush()
                if old is not None:
                    _copy_state(real, name, path)
                os.fsync(descriptor)
            check_unchanged(path, old)
            os.replace(name, real)
        finally:
            name.unlink(missing_ok=True)


def _copy_state(real: Path, copy: Path, path: Path) -> None:
    """Give a copy the owner, the mode and the attributes of a file."""
    state = real.stat()
    with suppress(PermissionError):  # a group that its owner has left
        os.chown(copy, state.st_uid, state.st_gid)
    with suppress(PermissionError):  # as some shared folders answer, whatever is set
        shutil.copystat(real, copy)
        os.utime(copy)
    if (copy.stat().st_mode ^ state.st_mode) & 0o7777:
        raise StorageError(f"{path} would lose its permissions, so it was not written.")


def _copy_name(random: str) -> str:
    digest = blake2b(os.fsencode(random), digest_size=8, person=b"specchat copy").hexdigest()
    return f"{COPY}{random}-{digest}"


def _remove_left_copies(folder: Path) -> None:
    for left in folder.glob(f"{COPY}*"):
        with suppress(OSError):
            is_copy = left.name == _copy_name(left.name[len(COPY) :].partition("-")[0])
            if is_copy and time.time() - left.lstat().st_mtime > LEFT_S:
                left.unlink()
