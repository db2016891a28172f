"""States of a context as bytes, to save them and to roll back recurrent models."""

import ctypes
from typing import Any, NamedTuple

import numpy as np

from models.native.batch import SEQUENCE

_BYTES = ctypes.POINTER(ctypes.c_uint8)
_PARTIAL = 1  # LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY: without the cells of attention


def copied(c: Any, context: int, partial: bool = False) -> memoryview:
    """Return a copy of what a context holds; `partial` is the state of a recurrent model alone."""
    flags = _PARTIAL if partial else 0
    room = c.llama_state_seq_get_size_ext(context, SEQUENCE, flags)
    state = np.empty(room, np.uint8)
    pointer = state.ctypes.data_as(_BYTES)
    size = c.llama_state_seq_get_data_ext(context, pointer, room, SEQUENCE, flags)
    return state[:size].data


def put_back(c: Any, context: int, state: memoryview, count: int, partial: bool = False) -> bool:
    """Put a copy of `count` tokens back; after a failure the context's contents are undefined.

    Pass only what `copied` returned: a library does not detect every other sequence of bytes.
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
    """A copy of the state after `length` tokens."""

    length: int
    data: memoryview


class RecurrentState:
    """The state of one text, in a context whose attention, if there is any, forgets at will.

    llama.cpp may keep the states that the last tokens of a batch left, a slot for each: it goes
    back to one of them for nothing, once for each batch. Asked for more, it goes back to slots that
    an earlier batch has left, and reports success; so what may be asked is counted here. To go back
    anywhere else takes a copy of the state, of which the last one is kept.
    """

    def __init__(self, c: Any, context: int) -> None:
        self._c, self._context = c, context
        self._memory = c.llama_get_memory(context)
        self.slots = int(c.llama_n_rs_seq(context))
        """How many tokens of a batch can be rolled back without a copy."""
        self._filled = 0  # how many of them the last batch has left; -1: the state itself is broken
        self._copy: _Copy | None = None

    def evaluated(self, count: int) -> None:
        """Note that a batch of `count` tokens was evaluated."""
        self._filled = min(self.slots, count - 1)

    def reach(self, held: int, length: int) -> int:
        """Return the length, at most `length`, that can be rolled back to from `held` tokens."""
        if held - length <= self._filled:
            return length
        return self._copy.length if self._copy and self._copy.length <= length else 0

    def copy(self, held: int) -> None:
        """Copy the state after all `held` tokens; the empty state needs no copy."""
        if not held or (self._copy and self._copy.length == held):
            return
        self._copy = _Copy(held, copied(self._c, self._context, partial=True))

    def go_back(self, held: int, length: int) -> bool:
        """Roll back to a `length` that `reach` returned; after a failure the cache is undefined."""
        if held == length and self._filled >= 0:
            return True
        fresh, self._filled = self._filled, 0
        if held - length > fresh:
            assert self._copy  # it is what was in reach
            copied_length, copy = self._copy
            return put_back(self._c, self._context, copy, copied_length, partial=True)
        if self._copy and self._copy.length > length:
            self._copy = None
        return bool(self._c.llama_memory_seq_rm(self._memory, SEQUENCE, length, -1))

    def forget(self) -> None:
        """Drop the copy and all slots: the cache was emptied, or holds another text."""
        self._filled, self._copy = 0, None

    def mark_broken(self) -> None:
        """Note that a batch was aborted: the state is broken, and only a copy of it can be used."""
        self._filled = -1
