"""Files and long pasted texts that are sent with a question."""

import stat
from collections.abc import Iterable
from pathlib import Path

from assistant.store.values import Attachment
from assistant.streamed_text import decode
from models import child_process
from models.errors import UsageError, well_formed

DOCUMENTS = (".pdf", ".docx")
"""The kinds of files whose text is extracted, and cannot be edited."""

LIMIT = 10_000_000
"""Bytes of the largest file, and characters of the largest paste, that can be attached."""
SHORT = 2_000
"""Tokens of texts that are read as a whole on any machine: the passages of a short file are most of
it, and it can be rewritten only as a whole."""


def read(path: Path, name: str | None = None, *, pipes: bool = False) -> Attachment:
    """Return the text of a file; `pipes` lets it be one that may have to be waited for.

    A name that ends in a slash may be that of a folder, which is searched for each question.

    Raises:
        UsageError: the file has no text, is too big, or cannot be read.
    """
    name = well_formed(str(path) if name is None else name)
    if name.endswith("/") and path.is_dir():
        return Attachment(name, "")
    if path.suffix.lower() in DOCUMENTS:  # their bytes may happen to be text
        return Attachment(name, _extracted(path, name))
    return Attachment(name, text_of(contents(path, name, pipes=pipes), name))


def _extracted(path: Path, name: str) -> str:
    """Return the text of a document, which another process extracts: its reader is native code."""
    try:
        text, error = child_process.run("assistant.passages.worker", path.absolute())
    except (OSError, ValueError) as failure:  # a zero byte in the path
        raise UsageError(f"{name} cannot be read: {failure}.") from failure
    if error is not None:
        reason = error.rstrip(".") or "takes too long to read, or crashes its reader"
        raise UsageError(f"{name} {reason}.")
    return text.decode().rstrip()


def fit_in_time(seconds: Iterable[float], limit_s: float, token_s: float) -> list[bool]:
    """Say which texts are read as a whole: those that are read within the limit together.

    The others are asked by their passages. `seconds` says how long each takes to read, in order,
    and `token_s` how long a token does: `SHORT` ones are read in any case.
    """
    left, fit = max(limit_s, SHORT * token_s), list[bool]()
    for one in seconds:
        fit.append(one <= left)
        left -= one if fit[-1] else 0.0
    return fit


def contents(path: Path, name: str, *, pipes: bool = False) -> bytes:
    """Return the bytes of a file that is called `name`; `pipes` is as for `read`.

    Raises:
        UsageError: it is no file, too big, or cannot be read.
    """
    try:
        if not pipes and not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{name} is not a file; only files with text can be used.")
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}.") from error
    except ValueError as error:  # a zero byte in the path
        raise UsageError(f"{name} is not the name of a file.") from error
    if len(data) > LIMIT:
        raise UsageError(f"{name} has more than {LIMIT // 1_000_000} MB; use a part of it.")
    return data


def text_of(data: bytes, name: str) -> str:
    """Return bytes as text, without a byte order mark and line ends at the end.

    Raises:
        UsageError: the bytes are not a text.
    """
    return decode(data, name).text.rstrip("\r\n")
