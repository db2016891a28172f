"""What is learnt of a person's stored answers, kept beside them and gone with them.

The tables hold what one model's answers have said more than once. They stay in the data folder,
for nobody else to read, and are made anew from the store, so they know nothing that it has lost.
"""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from models.errors import StorageError
from models.files import disk
from models.files.places import data_dir

if TYPE_CHECKING:  # a store imports this; and tables bring numpy along
    from assistant.decoding.sources.ngram import Tables
    from assistant.store.store import Store

ENOUGH = 2_000_000  # tokens; older conversations are left alone
MOST = 10_000  # conversations


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


def recalled(model: str) -> "Tables":
    """Return what is known of a model's answers; empty tables if that is nothing."""
    from assistant.decoding.sources.ngram import opened

    return opened(_place(model))


def refresh(store: "Store", model: str) -> None:
    """Learn the answers of `model` that are in the store now, and forget those that are not.

    It takes a moment: call it from a thread. Nothing is learnt from a store in memory.

    Raises:
        StorageError: the store cannot be read, or the tables cannot be written.
    """
    from assistant.decoding.sources.ngram import learn

    if not store.saves:
        return
    try:
        disk.write_private(_place(model), learn(_answers(store, model)))
    except OSError as error:
        raise StorageError(
            f"{_place(model)} cannot be written ({error.strerror}), so nothing is learnt from "
            "stored answers. Make its folder writable, or set SPECCHAT_HOME to another one."
        ) from error


def _place(model: str) -> Path:
    # A name of a model may hold anything, but not every file system takes it.
    return folder() / hashlib.sha256(model.encode()).hexdigest()[:16]


def _answers(store: "Store", model: str) -> Iterator[tuple[int, ...]]:
    """Yield the tokens of a model's answers, those of the newest conversations first."""
    tokens = 0
    for summary in store.summaries(limit=MOST):
        for record in store.tree(summary.id):
            if record.model == model and record.token_ids:
                tokens += len(record.token_ids)
                yield record.token_ids
        if tokens > ENOUGH:
            return
