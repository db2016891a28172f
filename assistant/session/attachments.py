"""Files and long pasted texts that are sent with a question."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path

from assistant.events import Ready
from assistant.settings.settings import Settings
from assistant.store.values import Attachment
from assistant.streamed_text import decode
from models import child_process
from models.errors import UsageError, well_formed
from models.files.places import expand_user

DOCUMENTS = (".pdf", ".docx", ".eml")  # whose text is extracted, and cannot be edited
LIMIT = 10_000_000  # bytes of the largest file, and characters of the largest paste
PASTED = "pasted text"
SHORT = 2_000
"""Tokens of texts that are read as a whole on any machine: passages of a short file are nearly all
of it, and only a file that is read as a whole can be rewritten."""


def read(path: Path, name: str | None = None, *, pipes: bool = False) -> Attachment:
    """Return the text of a file; with `pipes`, it may be a pipe, which may block.

    A name that ends in a slash may be that of a folder, which is searched for each question. A
    `UsageError` says that the file has no text, is too big, or cannot be read.
    """
    name = well_formed(str(path) if name is None else name)
    if name.endswith("/") and os.path.isdir(path):
        return Attachment(name, "")
    if path.suffix.lower() in DOCUMENTS:  # their bytes may happen to be text
        return Attachment(name, _extract(path, name))
    return Attachment(name, text_of(contents(path, name, pipes=pipes), name))


def attachment_of(name: str, *, pipes: bool = False) -> Attachment:
    """Return the text of a file, or a folder to be searched, by its name; as `read` does."""
    path = expand_user(name)
    return read(path, f"{name.rstrip('/')}/" if os.path.isdir(path) else name, pipes=pipes)


def pasted_text(text: str, others: Iterable[Attachment]) -> Attachment:
    """Return a text that was pasted, by a name that no other has; UsageError if it is too long."""
    if len(text) > LIMIT:
        what = f"The paste has {len(text):,} characters; {LIMIT:,} fit."
        raise UsageError(f"{what} Save it as a file and attach a part of it.")
    names = {other.whole.name for other in others}
    numbered = (f"{PASTED} {number}" for number in range(2, len(names) + 3))
    return Attachment(next(name for name in (PASTED, *numbered) if name not in names), text)


def _extract(path: Path, name: str) -> str:
    """Return the text of a document, which another process extracts: its reader is native code."""
    try:
        text, error = child_process.run("assistant.passages.worker", path.absolute())
    except (OSError, ValueError) as failure:  # a zero byte in the path
        raise UsageError(f"{name} cannot be read: {failure}.") from failure
    if error is not None:
        reason = error.rstrip(".") or "takes too long to read, or crashes its reader"
        raise UsageError(f"{name} {reason}.")
    return text.decode().rstrip()


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """How much of a question's attached texts is read; of longer ones, only passages are."""

    token_s: float = 0.0  # seconds that a token takes to read
    patience_s: float = 0.0  # that all texts may take; `SHORT` tokens are read in any case
    tokens: float = inf  # that all texts may have

    @classmethod
    def of(cls, ready: Ready | None, settings: Settings) -> "ReadingLimits":
        """Return the limits of the loaded models; without any, there are none."""
        if ready is None:
            return cls()
        budget = settings.request().prompt_budget(ready.target.n_ctx)
        return cls(ready.reading_s, settings.about_seconds, budget)

    def excess(self, texts: Iterable[tuple[int, bool]]) -> Iterator[float]:
        """Yield 0 for each text that is read, else the seconds that reading it would take.

        Infinity stands for a text that does not fit into the context after those before it. A text
        is given as its tokens, and whether the user waits for it however long it takes.
        """
        left, left_s = self.tokens, max(self.patience_s, SHORT * self.token_s)
        for count, is_wanted in texts:
            seconds = 0.0 if is_wanted else count * self.token_s
            if count <= left and seconds <= left_s:
                left, left_s = left - count, left_s - seconds
                yield 0.0
            else:
                yield seconds if count <= left else inf


def contents(path: Path, name: str, *, pipes: bool = False) -> bytes:
    """Return the bytes of a file that is called `name`; `pipes` and UsageError as for `read`."""
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
    """Return bytes as text, without a byte order mark and final line ends; UsageError if binary."""
    return decode(data, name).text.rstrip("\r\n")
