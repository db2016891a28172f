"""Where the tables are that were learnt of a person's stored answers."""

from contextlib import suppress
from pathlib import Path

from models.errors import StorageError
from models.files.places import data_dir


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
