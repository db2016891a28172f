"""The contents of a context as bytes: to save, restore and roll back."""

import ctypes
from typing import Any

import numpy as np

from models.native.batch import SEQUENCE

_BYTES = ctypes.POINTER(ctypes.c_uint8)
_PARTIAL = 1  # LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY: without the cells of attention


def copied(c: Any, context: int, partial: bool = False) -> memoryview:
    """Return a copy of what a context holds; `partial` is the state of a recurrent model alone."""
    flags = (_PARTIAL,) if partial else ()
    get_size = c.llama_state_seq_get_size_ext if partial else c.llama_state_seq_get_size
    get_data = c.llama_state_seq_get_data_ext if partial else c.llama_state_seq_get_data
    size = get_size(context, SEQUENCE, *flags)
    state = np.empty(size, np.uint8)
    size = get_data(context, state.ctypes.data_as(_BYTES), size, SEQUENCE, *flags)
    return state[:size].data


def put_back(c: Any, context: int, state: memoryview, count: int, partial: bool = False) -> bool:
    """Put a copy of `count` tokens back; after a failure the context's contents are undefined.

    Pass only what `copied` returned: a library does not detect every other sequence of bytes.
    """
    flags = (_PARTIAL,) if partial else ()
    set_data = c.llama_state_seq_set_data_ext if partial else c.llama_state_seq_set_data
    data, memory = np.frombuffer(state, np.uint8), c.llama_get_memory(context)
    pointer = data.ctypes.data_as(_BYTES)
    if set_data(context, pointer, len(data), SEQUENCE, *flags) != len(data):
        return False
    if partial and not c.llama_memory_seq_rm(memory, SEQUENCE, count, -1):
        return False
    last = c.llama_memory_seq_pos_max(memory, SEQUENCE)
    return bool(last == count - 1)
