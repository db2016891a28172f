"""Files of the program's own that nobody else may read."""

import os
from pathlib import Path
from threading import get_ident


def write(path: Path, content: str | bytes) -> None:
    """Replace a file in one step, making the folders that lead to it.

    Raises:
        OSError: it cannot be written.
    """
    folder(path.parent)
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        fresh.replace(path)
    except BaseException:  # an interrupt must not leave half a file behind
        fresh.unlink(missing_ok=True)
        raise


def folder(path: Path) -> None:
    """Make a folder, and those that lead to it, which nobody else may enter.

    Raises:
        OSError: it cannot be made.
    """
    if not path.is_dir():
        folder(path.parent)  # mkdir's own parents would get the usual permissions
        path.mkdir(mode=0o700, exist_ok=True)
