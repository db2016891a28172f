"""A flag that one thread raises and llama.cpp reads in another, without the interpreter lock."""

import ctypes


class CancelFlag:
    """Ask running work to stop.

    The flag is a byte of plain memory: llama.cpp polls it from C between two nodes of the compute
    graph (see `models.native`), Python code between two evaluations.
    """

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(2)

    @property
    def address(self) -> int:
        """The address of a C string that is empty until the flag is raised."""
        return ctypes.addressof(self._memory)

    def raise_(self) -> None:
        """Ask the running work to stop."""
        self._memory[0] = b"\1"

    def lower(self) -> None:
        """Allow new work."""
        self._memory[0] = b"\0"

    @property
    def raised(self) -> bool:
        """Whether the work was asked to stop."""
        return self._memory[0] != b"\0"
