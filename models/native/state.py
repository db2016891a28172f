"""The KV cache as bytes that only the library understands."""

import ctypes
from typing import Any

import numpy as np

from models.native.batch import SEQUENCE

_BYTES = ctypes.POINTER(ctypes.c_uint8)


def copied(c: Any, context: int) -> memoryview:
    """Return a copy of what the cache holds."""
    size = c.llama_state_seq_get_size(context, SEQUENCE)
    state = np.empty(size, np.uint8)
    pointer = state.ctypes.data_as(_BYTES)
    size = c.llama_state_seq_get_data(context, pointer, size, SEQUENCE)
    return state[:size].data


def put_back(c: Any, context: int, state: memoryview, count: int) -> bool:
    """Fill an empty cache with such a copy of `count` tokens; if that fails, anything may be in it.

    A library refuses most bytes that it did not write itself; never pass it any others.
    """
    data = np.frombuffer(state, np.uint8)
    pointer = data.ctypes.data_as(_BYTES)
    if c.llama_state_seq_set_data(context, pointer, len(data), SEQUENCE) != len(data):
        return False
    last = c.llama_memory_seq_pos_max(c.llama_get_memory(context), SEQUENCE)
    return bool(last == count - 1)
