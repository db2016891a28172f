"""What a recurrent model can go back to: its state is one value, not a row for each token."""

import ctypes
from typing import Any, NamedTuple

import numpy as np

from models.native.batch import SEQUENCE

_PARTIAL = 1  # LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY: without the cells of attention
_BYTES = ctypes.POINTER(ctypes.c_uint8)


class _Copy(NamedTuple):
    """The state after so many tokens."""

    length: int
    data: np.ndarray


class RecurrentState:
    """The state of one text, in a context whose attention, if there is any, forgets at will.

    A library may keep the states that the last tokens of a batch left, in planes: it goes back to
    one of them for nothing, once for each batch. It goes back further, if asked to, to planes
    that an earlier batch has left, and says that all is well; so what may be asked is counted here.
    To go back to any other place takes a copy of the state, of which the last one is kept.
    """

    def __init__(self, c: Any, context: int) -> None:
        self._c, self._context = c, context
        self._memory = c.llama_get_memory(context)
        self.planes = int(c.llama_n_rs_seq(context))
        """How many tokens of a batch can be taken back for nothing."""
        self._fresh = 0  # how many of them the last batch has left; -1: the state itself is broken
        self._copy: _Copy | None = None

    def evaluated(self, count: int) -> None:
        """Note that a batch of `count` tokens was evaluated."""
        self._fresh = min(self.planes, count - 1)

    def reach(self, held: int, length: int) -> int:
        """Return the longest beginning of `held` tokens to go back to, at most `length` tokens."""
        if held - length <= self._fresh:
            return length
        return self._copy.length if self._copy and self._copy.length <= length else 0

    def copy(self, held: int) -> None:
        """Keep a copy of the state after all `held` tokens; one at the beginning is of no use."""
        if not held or (self._copy and self._copy.length == held):
            return
        size = self._c.llama_state_seq_get_size_ext(self._context, SEQUENCE, _PARTIAL)
        data = np.empty(size, np.uint8)
        pointer = data.ctypes.data_as(_BYTES)
        size = self._c.llama_state_seq_get_data_ext(
            self._context, pointer, size, SEQUENCE, _PARTIAL
        )
        self._copy = _Copy(held, data[:size])

    def go_back(self, held: int, length: int) -> bool:
        """Go back to a `length` that is in reach; if that fails, anything may be in the cache."""
        if held == length and self._fresh >= 0:
            return True
        fresh, self._fresh = self._fresh, 0
        if held - length > fresh:
            return self._put_back()
        if self._copy and self._copy.length > length:
            self._copy = None
        return bool(self._c.llama_memory_seq_rm(self._memory, SEQUENCE, length, -1))

    def forget(self) -> None:
        """Forget everything: the cache is empty, or of another text."""
        self._fresh, self._copy = 0, None

    def spoil(self) -> None:
        """Note that a batch was stopped half-way: only a copy is still whole."""
        self._fresh = -1

    def _put_back(self) -> bool:
        assert self._copy  # it is what was in reach
        length, data = self._copy
        pointer = data.ctypes.data_as(_BYTES)
        c, size = self._c, len(data)
        put = c.llama_state_seq_set_data_ext(self._context, pointer, size, SEQUENCE, _PARTIAL)
        if put != size or not c.llama_memory_seq_rm(self._memory, SEQUENCE, length, -1):
            return False
        return bool(c.llama_memory_seq_pos_max(self._memory, SEQUENCE) == length - 1)
