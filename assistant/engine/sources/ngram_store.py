"""What is learnt from the user's stored answers; it is stored next to them and deleted with them.

For the default pair there is something to begin with: tables of its target's answers to questions
that were written for this, `python -m tests.tools.public_text.ngrams`.

The tables hold what one model's answers have said more than once. They stay in the data folder,
for nobody else to read, and are made again from the store, so they know nothing that it has lost.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from models.errors import StorageError
from models.files import disk
from models.files.places import data_dir

if TYPE_CHECKING:  # tables import numpy
    from assistant.engine.sources.ngram import Tables

MAX_TOKENS = 2_000_000  # older answers are left alone
SHIPPED = Path(__file__).parent


def folder() -> Path:
    """Return the folder of the tables."""
    return data_dir() / "ngrams"


def clear() -> None:
    """Remove all tables: something was deleted for good, or nobody wants them.

    Raises:
        StorageError: one cannot be removed.
    """
    with suppress(FileNotFoundError):
        for path in folder().iterdir():
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise StorageError(f"{path} cannot be removed ({error.strerror}).") from error


def recalled(model: str) -> list["Tables"]:
    """Return what is known of a model's answers, if that is anything."""
    return _opened(_place(model))


def shipped(vocabulary: str | None) -> list["Tables"]:
    """Return what came with the program for a vocabulary, by its digest, if anything did."""
    return _opened(SHIPPED / f"{vocabulary}.ngrams")


def _opened(place: Path) -> list["Tables"]:
    if not place.exists():
        return []
    from assistant.engine.sources.ngram import opened

    return [opened(place)]


def refresh(model: str, answers: Iterable[tuple[int, ...]]) -> None:
    """Learn the tokens of a model's answers, the newest first, and forget all but those.

    It takes a moment: call it from a thread.

    Raises:
        StorageError: the answers cannot be read, or the tables cannot be written.
    """
    from assistant.engine.sources.ngram import learn

    try:
        disk.write_private(_place(model), learn(_newest(answers)))
    except OSError as error:
        raise StorageError(
            f"{_place(model)} cannot be written ({error.strerror}), so nothing is learnt from "
            "stored answers. Make its folder writable, or set SPECCHAT_HOME to another one."
        ) from error


def _place(model: str) -> Path:
    # A name of a model may hold anything, but not every file system takes it.
    return folder() / hashlib.sha256(model.encode()).hexdigest()[:16]


def _newest(answers: Iterable[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    left = MAX_TOKENS
    for tokens in answers:
        yield tokens
        left -= len(tokens)
        if left < 0:
            return
