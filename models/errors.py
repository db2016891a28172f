"""Everything that can go wrong in a way a user can act on.

The text of each is one or two sentences that say what happened, to which file or value, and what to
do about it; it is shown as it is.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

NO_MEMORY = "Memory ran out. Close other programs, or try a smaller model or context (--ctx)."
OUT_OF_MEMORY = re.compile(
    r"(?i)MemoryError|bad_alloc|out of memory|mem_buffer|failed to map|(memory|to|cannot) allocat"
)
"""What Python, its libraries and the system say without memory."""


def well_formed(text: str) -> str:
    """Return a text with U+FFFD for each half of a surrogate pair: one for each byte of a file's
    name that is no UTF-8, as Python spells it. A path that is opened stays as it is.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class SpecchatError(Exception):
    """A failure whose text is meant for the user at the keyboard; paths in it may be anything."""

    def __init__(self, text: str = "") -> None:
        super().__init__(well_formed(text))


class UsageError(SpecchatError):
    """A requested value is invalid."""


class ModelError(SpecchatError):
    """A model file cannot be found, loaded or run."""


class ModelMissing(ModelError):
    """No such model is on this machine."""


class ContextFull(ModelError):
    """The text does not fit the model's context."""


class EngineRefused(ModelError):
    """This engine cannot load the file; another one may."""


class EngineDied(ModelError):
    """The process that computes ended, or had to be stopped."""


class OtherEngine(ModelError):
    """This process has loaded another engine; a new process can do it."""


class StorageError(SpecchatError):
    """A file or folder cannot be read or written."""


class NetworkError(SpecchatError):
    """A download failed or may not be tried."""


class Bug(SpecchatError):
    """Specchat itself is at fault."""


class Cancelled(Exception):
    """The work was stopped on request."""


@contextmanager
def raising(kind: type[SpecchatError], what: str, advice: str = "") -> Iterator[None]:
    """Raise an error of a kind instead of an `OSError`: what cannot be done, why, and advice."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what}: {error.strerror}.{advice}") from error
