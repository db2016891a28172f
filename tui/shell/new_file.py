"""Writing a new file that holds private text."""

import os
from collections.abc import Iterable
from pathlib import Path

from models.errors import StorageError, UsageError


def save(path: Path, texts: Iterable[str]) -> None:
    """Write a file that nobody else may read; one that exists is left alone."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise UsageError(f"{path} exists. Name a file that does not.") from error
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.") from error
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.writelines(texts)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StorageError(f"{path} cannot be written: {error.strerror}.") from error
        raise
