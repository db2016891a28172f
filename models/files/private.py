"""Files of the program's own that nobody else may read."""

import os
from pathlib import Path
from threading import get_ident


def write(path: Path, text: str) -> None:
    """Replace a file in one step, making the folders that lead to it.

    Raises:
        OSError: it cannot be written.
    """
    _folder(path.parent)
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _folder(path: Path) -> None:
    if not path.is_dir():
        _folder(path.parent)  # mkdir's own parents would get the usual permissions
        path.mkdir(mode=0o700, exist_ok=True)
