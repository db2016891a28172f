"""States of a context as bytes, to save them and to roll back recurrent models."""

import ctypes
from typing import Any, NamedTuple

import numpy as np

from models.native.engine import SEQUENCE

_BYTES = ctypes.POINTER(ctypes.c_uint8)
_PARTIAL = 1  # LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY: without the cells of attention


def copy_state(c: Any, context: int, partial: bool = False) -> memoryview:
    """Return a copy of a context's state; `partial` is only the recurrent part."""
    flags = _PARTIAL if partial else 0
    capacity = c.llama_state_seq_get_size_ext(context, SEQUENCE, flags)
    state = np.empty(capacity, np.uint8)
    pointer = state.ctypes.data_as(_BYTES)
    size = c.llama_state_seq_get_data_ext(context, pointer, capacity, SEQUENCE, flags)
    return state[:size].data


def set_state(c: Any, context: int, state: memoryview, count: int, partial: bool = False) -> bool:
    """Restore a copy of `count` tokens; after a failure the context's contents are undefined.

    Pass only a copy by `copy_state`: a library does not detect every other sequence of bytes.
    """
    flags, set_data = _PARTIAL if partial else 0, c.llama_state_seq_set_data_ext
    data, memory = np.frombuffer(state, np.uint8), c.llama_get_memory(context)
    pointer = data.ctypes.data_as(_BYTES)
    if set_data(context, pointer, len(data), SEQUENCE, flags) != len(data):
        return False
    if partial and not c.llama_memory_seq_rm(memory, SEQUENCE, count, -1):
        return False
    last = c.llama_memory_seq_pos_max(memory, SEQUENCE)
    return bool(last == count - 1)


class _Copy(NamedTuple):
    length: int  # tokens
    data: memoryview  # the state after them


class RecurrentState:
    """The recurrent state of one text, and how far it can be rolled back.

    llama.cpp may keep the states after the last tokens of a batch, one slot each, and can restore
    one of them at no cost, once for each batch. A second time, it restores slots of an earlier
    batch and reports success; so the valid slots are counted here. To roll back anywhere else, the
    last copy of the state is restored.
    """

    def __init__(self, c: Any, context: int) -> None:
        self._c, self._context = c, context
        self._memory = c.llama_get_memory(context)
        self.slots = int(c.llama_n_rs_seq(context))
        """How many tokens of a batch can be rolled back without a copy."""
        self._filled = 0  # slots that are valid after the last batch; -1: the state is broken
        self._copy: _Copy | None = None

    def note_evaluated(self, count: int) -> None:
        """Note that a batch of `count` tokens was evaluated."""
        self._filled = min(self.slots, count - 1)

    def reach(self, cached: int, length: int) -> int:
        """Return the length, at most `length`, that can be rolled back to from `cached` tokens."""
        if cached - length <= self._filled:
            return length
        return self._copy.length if self._copy and self._copy.length <= length else 0

    def copy(self, cached: int) -> None:
        """Copy the state after all `cached` tokens; the empty state needs no copy."""
        if not cached or (self._copy and self._copy.length == cached):
            return
        self._copy = _Copy(cached, copy_state(self._c, self._context, partial=True))

    def roll_back(self, cached: int, length: int) -> bool:
        """Roll back to a `length` that `reach` returned; after a failure the cache is undefined."""
        if cached == length and self._filled >= 0:
            return True
        fresh, self._filled = self._filled, 0
        if cached - length > fresh:
            assert self._copy  # `reach` returned its length
            copied_length, copy = self._copy
            return set_state(self._c, self._context, copy, copied_length, partial=True)
        if self._copy and self._copy.length > length:
            self._copy = None
        return bool(self._c.llama_memory_seq_rm(self._memory, SEQUENCE, length, -1))

    def reset(self) -> None:
        """Drop the copy and all slots: the cache was emptied, or has another text."""
        self._filled, self._copy = 0, None

    def mark_broken(self) -> None:
        """Note that a batch was aborted: the state is broken, and only a copy of it can be used."""
        self._filled = -1
