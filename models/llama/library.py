"""llama.cpp as a `models.native.library.Library`."""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import llama_cpp.llama_cpp as c

from models.engines import ENGINES, PACKAGES
from models.errors import ModelError
from models.gguf.header import Header
from models.llama import devices as _devices
from models.llama import heads as _heads
from models.native import complaints
from models.native.batch import BATCH
from models.native.library import (
    POSITION_FIELDS,
    ContextSettings,
    HeadFunctions,
    WeightSettings,
    files_of,
)

TITLE, PACKAGE = ENGINES["llama"], PACKAGES["llama"]
CONTEXT_DEFAULTS: dict[str, float] = {
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_rs_seq": 0,
    "n_outputs_max_per_seq": 1,
    "flash_attn_type": -1,
    "yarn_ext_factor": -1.0,
    "type_k": 1,
    "type_v": 1,
    "swa_full": True,
}
MODEL_DEFAULTS: dict[str, float] = {"n_gpu_layers": -1, "use_extra_bufts": True}
CACHE_FIELDS = (*POSITION_FIELDS, "flash_attn_type", "type_k", "type_v", "swa_full", "kv_unified")


@cache
def start() -> None:
    """Check that the bindings match the library, silence it and initialise it, once."""
    complaints.listen(c)
    _check_layout()
    c.llama_backend_init()


def _check_layout() -> None:
    """Read defaults whose values are known: misplaced fields would show others."""
    context, model = c.llama_context_default_params(), c.llama_model_default_params()
    found = {name: getattr(context, name) for name in CONTEXT_DEFAULTS}
    found |= {name: getattr(model, name) for name in MODEL_DEFAULTS}
    if found != CONTEXT_DEFAULTS | MODEL_DEFAULTS:
        raise ModelError(PACKAGE.misfit)


def model_params(settings: WeightSettings) -> Any:
    """Return the structure for loading weights."""
    _devices.join_servers()
    params = c.llama_model_default_params()
    params.vocab_only = settings.vocab_only
    params.load_mtp = settings.heads
    params.use_extra_bufts = settings.repack and can_repack()
    if settings.gpu_layers is not None:
        params.n_gpu_layers = settings.gpu_layers
    if settings.at_home and (here := _devices.devices_here()):
        params.devices = ctypes.cast(here, ctypes.c_void_p)
    return params


def context_params(settings: ContextSettings) -> Any:
    """Return the structure for making a context."""
    params = c.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = settings.n_ctx, BATCH, BATCH
    params.n_seq_max, params.kv_unified = settings.sequences, True
    params.n_outputs_max = settings.max_rows
    params.n_rs_seq = settings.planes  # ignored for models that cannot
    # Batches of two or more, also verification, use the second count.
    params.n_threads = params.n_threads_batch = settings.threads
    if settings.flash_attention is not None:
        params.flash_attn_type = int(settings.flash_attention)
    if settings.use == "heads":
        _heads.set_context_type(params)
    params.swa_full = True  # otherwise a rollback beyond the window silently corrupts the cache
    return params


def refusal(_header: Header) -> str | None:
    """Return None: what `models.gguf` accepts, it loads or says why not."""
    return None


def heads(header: Header) -> HeadFunctions:
    """Return how the heads in a file are run; see `models.llama.heads`."""
    return _heads.functions(header)


def sliding_window(model: int) -> int:
    """Return how many tokens back the cache of loaded weights reaches; 0 means all."""
    return int(c.llama_model_n_swa(model))


def holds_several_texts() -> bool:
    """Say yes."""
    return True


def aborts_in_silence() -> bool:
    """Say no: it returns a separate code."""
    return False


def can_repack() -> bool:
    """Say whether weights can be rearranged for the processor's kernels."""
    return not has_amx()


def version() -> str:
    """Return the version of llama.cpp that is compiled in."""
    text: bytes = c.llama_version()
    return text.decode()


@cache
def build() -> str:
    """Return what identifies this build of the library."""
    return files_of(Path(c._lib._name).resolve().parent)


def features() -> str:
    """Return the features of processor and backends that are compiled in, `NAME = 1 | ...`."""
    text: bytes = c.llama_print_system_info()
    return text.decode()


def has_amx() -> bool:
    """Say whether the matrix kernels for Intel's AMX are compiled in.

    Some compilers build them so that the first batch kills the process (llama.cpp issue 20824).
    They are an "extra buffer type", so weights loaded without those never reach them.
    """
    return "AMX_INT8 = 1" in features()


def devices() -> list[str]:
    """Return a line for each device it computes on."""
    return _devices.descriptions()


def offloads_to_gpu() -> bool:
    """Say whether this build can use a GPU."""
    return bool(c.llama_supports_gpu_offload())
