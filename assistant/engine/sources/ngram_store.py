"""N-gram tables of the user's stored answers; they are stored next to them and deleted with them.

For the default pair, tables are bundled: of its target's answers to questions that were written for
this, `python -m tests.tools.public_text.ngrams`.

The tables of a model have sequences that its answers repeat. They are private files in the data
folder, and are rebuilt from the store, so deleted answers leave them.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from models.errors import StorageError
from models.files import disk
from models.files.places import data_dir

if TYPE_CHECKING:  # tables import numpy
    from assistant.engine.sources.ngram import Tables

MAX_TOKENS = 2_000_000  # older answers are left alone
BUNDLED = Path(__file__).parent


def folder() -> Path:
    """Return the folder of the tables."""
    return data_dir() / "ngrams"


def clear() -> None:
    """Remove all tables, because answers were deleted for good, or the source was turned off.

    A `StorageError` names one that cannot be removed.
    """
    try:
        for path in folder().iterdir():
            path.unlink(missing_ok=True)
    except (FileNotFoundError, NotADirectoryError):  # there are none
        pass
    except OSError as error:
        raise StorageError(f"{error.filename} cannot be removed ({error.strerror}).") from error


def recalled(model: str) -> list["Tables"]:
    """Return the tables of a model's answers, if there are any."""
    return _opened(_path(model))


def bundled(vocabulary: str | None) -> list["Tables"]:
    """Return the bundled tables for the digest of a vocabulary, if there are any."""
    return _opened(BUNDLED / f"{vocabulary}.ngrams")


def _opened(path: Path) -> list["Tables"]:
    if not path.exists():
        return []
    from assistant.engine.sources.ngram import opened

    return [opened(path)]


def refresh(model: str, answers: Iterable[tuple[int, ...]]) -> None:
    """Rebuild the tables of a model from the tokens of its answers, the newest first.

    It takes a moment: call it from a thread. A `StorageError` says that the answers cannot be
    read, or that the tables cannot be written.
    """
    from assistant.engine.sources.ngram import build_tables

    try:
        disk.write_private(_path(model), build_tables(_newest(answers)))
    except OSError as error:
        raise StorageError(
            f"{_path(model)} cannot be written ({error.strerror}), so nothing is learnt from "
            "stored answers. Make its folder writable, or set SPECCHAT_HOME to another one."
        ) from error


def _path(model: str) -> Path:
    # A model's name may contain anything, but a file's name may not.
    return folder() / hashlib.sha256(model.encode()).hexdigest()[:16]


def _newest(answers: Iterable[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    left = MAX_TOKENS
    for tokens in answers:
        yield tokens
        left -= len(tokens)
        if left < 0:
            return
