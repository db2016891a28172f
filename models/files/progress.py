"""How far a transfer or a checksum has come, for display."""

from collections.abc import Callable
from dataclasses import dataclass

from models.cancel import CancelFlag
from models.errors import Cancelled


@dataclass(frozen=True, slots=True)
class Progress:
    """Bytes done of bytes in all, and what is being done."""

    done: int
    total: int  # 0 while unknown
    note: str
    notice: str = ""  # a sentence to show the user once


Report = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Report to nobody."""


def stop_if_asked(cancel: CancelFlag | None) -> None:
    """Raise `Cancelled` once the flag is up."""
    if cancel is not None and cancel.raised:
        raise Cancelled
