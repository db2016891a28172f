"""Files and long pasted texts sent with a question."""

import json
import re
import stat
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from assistant.store.values import Attachment
from models.errors import UsageError
from models.well_formed import well_formed
from tui.safe import safe

LIMIT = 10_000_000
"""Bytes of the largest file, and characters of the largest paste, that can be attached."""
EDITABLE = 20_000
"""Characters above which a text is slow to edit; as an attachment it is not."""
CHARACTERS_PER_TOKEN = 4
"""Characters per token, on average, in English text and in code."""
_PEEK = 8192


def joined(text: str, attachments: Iterable[Attachment]) -> str:
    """Return the message that the model sees: the words, then each text between two fences."""
    parts = [text, *(_fenced(attachment) for attachment in attachments)]
    return "\n\n".join(part for part in parts if part.strip())


def read(path: Path, name: str | None = None, *, pipes: bool = False) -> Attachment:
    """Return the text of a file; `pipes` lets it be one that may have to be waited for.

    Raises:
        UsageError: the file is not a text, too big, or cannot be read.
    """
    name = well_formed(str(path) if name is None else name)
    try:
        if not pipes and not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{name} is not a file; only files with text can be attached.")
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}.") from error
    except ValueError as error:  # a zero byte in the path
        raise UsageError(f"{name} is not the name of a file.") from error
    if len(data) > LIMIT:
        raise UsageError(f"{name} has more than {LIMIT // 1_000_000} MB; attach a part of it.")
    return Attachment(name, decoded(data, name))


def decoded(data: bytes, name: str) -> str:
    """Return bytes as text, without a byte order mark and newlines at the end.

    Raises:
        UsageError: the bytes are not a text.
    """
    if b"\0" in data[:_PEEK]:
        raise UsageError(f"{name} is not text; only text can be part of a question.")
    return data.decode("utf-8-sig", "replace").rstrip("\n")


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has, at once and without a model."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def weight(text: str) -> str:
    """Return the size of a text in bytes, in decimal units."""
    count = len(text.encode("utf-8", "replace"))
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.1f} kB" if count < 999_950 else f"{count / 1e6:.1f} MB"


def one_line(name: str) -> str:
    """Return the name of a file as it can be shown in a line."""
    return safe(name).replace("\n", "␊").replace("\t", "␉")


def to_json(text: str, attachments: Iterable[Attachment]) -> str:
    """Return a text and its attachments as JSON."""
    return f'{{"text": {json.dumps(text)}, "attachments": {_attachments_json(tuple(attachments))}}}'


def from_json(state: str) -> tuple[str, tuple[Attachment, ...]]:
    """Return what `to_json` wrote; empty if it is invalid."""
    try:
        unsent = json.loads(state)
        attached = tuple(Attachment(str(name), str(text)) for name, text in unsent["attachments"])
        return str(unsent["text"]), attached
    except (ValueError, TypeError, KeyError):
        return "", ()


@lru_cache(maxsize=1)  # megabytes that stay the same while the text changes
def _attachments_json(attachments: tuple[Attachment, ...]) -> str:
    return json.dumps([[attachment.name, attachment.text] for attachment in attachments])


def _fenced(attachment: Attachment) -> str:
    runs = re.findall("`{3,}", attachment.text)
    fence = "`" * (max(map(len, runs), default=2) + 1)  # what the text holds does not end it
    return f"{attachment.name}:\n{fence}\n{attachment.text}\n{fence}"
