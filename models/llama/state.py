"""The KV cache as bytes, of which only llama.cpp knows what they mean."""

import ctypes

import llama_cpp.llama_cpp as llama
import numpy as np

from models.llama.batch import SEQUENCE

_BYTES = ctypes.POINTER(ctypes.c_uint8)


def copied(context: int) -> memoryview:
    """Return a copy of what the cache holds."""
    size = llama.llama_state_seq_get_size(context, SEQUENCE)
    state = np.empty(size, np.uint8)
    pointer = state.ctypes.data_as(_BYTES)
    size = llama.llama_state_seq_get_data(context, pointer, size, SEQUENCE)
    return state[:size].data


def put_back(context: int, state: memoryview, count: int) -> bool:
    """Fill an empty cache with such a copy of `count` tokens; if that fails, anything may be in it.

    llama.cpp refuses most of what is not of its own making, and is not to be tried with the rest.
    """
    data = np.frombuffer(state, np.uint8)
    pointer = data.ctypes.data_as(_BYTES)
    if llama.llama_state_seq_set_data(context, pointer, len(data), SEQUENCE) != len(data):
        return False
    last = llama.llama_memory_seq_pos_max(llama.llama_get_memory(context), SEQUENCE)
    return bool(last == count - 1)
