"""N-gram tables of the user's stored answers; they are stored next to them and deleted with them.

The tables of a model have sequences that its answers repeat. They are private files in the data
folder, and are rebuilt from the store, so deleted answers leave them. For the default pair, tables
are bundled: `python -m tests.tools.public_text.ngrams` made them of its target's answers to
questions that were written for this.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from models.errors import StorageError, raising
from models.files import disk
from models.files.places import data_dir

MAX_TOKENS = 2_000_000  # older answers are left alone
BUNDLED = Path(__file__).parent  # their files are named by the digest of the vocabulary


def folder() -> Path:
    """Return the folder of the tables."""
    return data_dir() / "ngrams"


def clear() -> None:
    """Remove all tables, because answers were deleted for good, or the source was turned off."""
    with suppress(FileNotFoundError, NotADirectoryError):  # there are none
        for path in folder().iterdir():
            path.unlink(missing_ok=True)


def refresh(model: str, answers: Iterable[tuple[int, ...]]) -> None:
    """Rebuild the tables of a model from the tokens of its answers, the newest first.

    It takes a moment: call it from a thread. A `StorageError` says that the answers cannot be
    read, or that the tables cannot be written.
    """
    from assistant.engine.sources.ngram import build_tables

    what = f"Nothing is learnt from stored answers: {path_of(model)} cannot be written"
    advice = " Make its folder writable, or set SPECCHAT_HOME to another one."
    with raising(StorageError, what, advice):
        disk.write_private(path_of(model), build_tables(_newest(answers)))


def path_of(model: str) -> Path:
    """Return where the tables of a model's answers are, if there are any."""
    # A model's name may contain anything, but a file's name may not.
    return folder() / hashlib.sha256(model.encode()).hexdigest()[:16]


def _newest(answers: Iterable[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    budget = MAX_TOKENS
    for tokens in answers:
        yield tokens
        budget -= len(tokens)
        if budget < 0:
            return
