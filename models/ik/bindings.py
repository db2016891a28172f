"""The C functions of ik_llama.cpp that specchat calls, under llama.cpp's names. The fork left
llama.cpp in 2024: some functions have their old names, take the model where they now take its
vocabulary, or lack later parameters. Callers see none of that.
"""

import ctypes
import os
from contextlib import suppress
from ctypes import CFUNCTYPE, POINTER, c_bool, c_char_p, c_float, c_int, c_int32, c_uint8, c_uint32
from ctypes import c_size_t as size
from ctypes import c_void_p as pointer
from importlib import import_module
from typing import Any

from models import ik

if compiled := ik.compiled_library():
    with suppress(OSError):  # a library that cannot be loaded leaves its place to the wheel's
        os.environ[ik.VARIABLE] = ctypes.CDLL(str(compiled))._name
api: Any = import_module("ik_llama_cpp._ctypes_api")
if compiled:  # another process decides for itself
    os.environ.pop(ik.VARIABLE, None)
library_path: str = api._lib._name
llama_model_free = api.llama_free_model


def __getattr__(name: str) -> Any:
    """Return a function or structure that is the same as in llama.cpp."""
    return getattr(api, name)


def _bind(name: str, result: Any, *arguments: Any) -> Any:
    """Return a function of the library that its package does not declare, or declares wrongly."""
    # A function pointer of our own: the package's declaration of the same symbol stays as it is.
    return CFUNCTYPE(result, *arguments)((name, api._lib))


_bytes = POINTER(c_uint8)
_log_callback = CFUNCTYPE(None, c_int, c_char_p, pointer)

llama_log_set = _bind("llama_log_set", None, _log_callback, pointer)
llama_print_system_info = _bind("llama_print_system_info", c_char_p)
llama_n_ctx = _bind("llama_n_ctx", c_uint32, pointer)
llama_model_n_ctx_train = _bind("llama_n_ctx_train", c_int32, pointer)
llama_model_has_encoder = _bind("llama_model_has_encoder", c_bool, pointer)
llama_model_is_recurrent = _bind("llama_model_is_recurrent", c_bool, pointer)
llama_model_is_hybrid = _bind("llama_model_is_hybrid", c_bool, pointer)
llama_set_abort_callback = _bind(
    "llama_set_abort_callback", None, pointer, api.ggml_abort_callback, pointer
)
llama_set_n_threads = _bind("llama_set_n_threads", None, pointer, c_uint32, c_uint32)
llama_synchronize = _bind("llama_synchronize", None, pointer)
llama_get_logits = _bind("llama_get_logits", POINTER(c_float), pointer)

_state = _bytes, size, c_int32, c_uint32
llama_state_seq_get_size_ext = _bind("llama_state_seq_get_size", size, pointer, c_int32, c_uint32)
llama_state_seq_get_data_ext = _bind("llama_state_seq_get_data", size, pointer, *_state)
llama_state_seq_set_data_ext = _bind("llama_state_seq_set_data", size, pointer, *_state)

llama_memory_seq_rm = _bind("llama_kv_cache_seq_rm", c_bool, pointer, c_int32, c_int32, c_int32)
llama_memory_seq_pos_min = _bind("llama_kv_cache_seq_pos_min", c_int32, pointer, c_int32)
llama_memory_seq_pos_max = _bind("llama_kv_cache_seq_pos_max", c_int32, pointer, c_int32)


def llama_memory_clear(context: int, _data: bool) -> None:
    """Forget all cells; the fork's own function also writes zeros over all of the cache."""
    llama_memory_seq_rm(context, -1, -1, -1)


llama_vocab_n_tokens = _bind("llama_n_vocab", c_int32, pointer)
llama_vocab_get_add_bos = _bind("llama_add_bos_token", c_bool, pointer)
llama_vocab_get_text = _bind("llama_token_get_text", c_char_p, pointer, c_int32)
llama_vocab_bos = _bind("llama_token_bos", c_int32, pointer)
llama_vocab_eos = _bind("llama_token_eos", c_int32, pointer)
llama_vocab_eot = _bind("llama_token_eot", c_int32, pointer)
llama_vocab_get_attr = _bind("llama_token_get_attr", c_int, pointer, c_int32)
llama_token_to_piece = _bind(
    "llama_token_to_piece", c_int32, pointer, c_int32, c_char_p, c_int32, c_int32, c_bool
)


def llama_get_memory(handle: int) -> int:
    """Return a context itself: it is its cache."""
    return handle


llama_model_get_vocab = llama_get_memory
"""Returns the model itself, which is what all functions of the vocabulary take here."""
