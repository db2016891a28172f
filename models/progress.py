"""Progress of long work, and how it is cancelled."""

from array import array
from collections.abc import Callable
from dataclasses import dataclass

from models.errors import Cancelled


class CancelFlag:
    """Ask running work to stop.

    The flag is a byte of plain memory: llama.cpp polls it from C between two nodes of the compute
    graph (see `models.native`), Python code between two evaluations.
    """

    def __init__(self) -> None:
        self._memory = array("b", (0, 0))

    @property
    def address(self) -> int:
        """The address of a C string that is empty until the flag is raised."""
        return self._memory.buffer_info()[0]

    def raise_(self) -> None:
        """Ask the running work to stop."""
        self._memory[0] = 1

    def lower(self) -> None:
        """Allow new work."""
        self._memory[0] = 0

    @property
    def raised(self) -> bool:
        """Whether the work was asked to stop."""
        return self._memory[0] != 0


@dataclass(frozen=True, slots=True)
class Progress:
    """Bytes done, the total, and a note on the work."""

    done: int
    total: int  # 0 while unknown
    note: str
    warning: str = ""  # a sentence to show the user once


Report = Callable[[Progress], None]  # it may raise `Cancelled` to stop the work


def silent(progress: Progress) -> None:
    """Report to nobody."""


def raise_if_cancelled(cancel: CancelFlag | None) -> None:
    """Raise `Cancelled` once the flag is up."""
    if cancel is not None and cancel.raised:
        raise Cancelled
