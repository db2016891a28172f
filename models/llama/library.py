"""llama.cpp as a `models.native.engine.EngineLibrary`."""

import ctypes
import os
from pathlib import Path
from typing import Any

import llama_cpp.llama_cpp as c

from models.engines import ENGINES, PACKAGES
from models.machine import compute_cores
from models.native import native_log
from models.native.engine import POSITION_FIELDS, ContextSettings, EngineLibrary

CONTEXT_DEFAULTS: dict[str, object] = {
    "n_batch": 2048, "n_ubatch": 512, "n_rs_seq": 0, "n_outputs_max_per_seq": 1,
    "flash_attn_type": -1, "yarn_ext_factor": -1.0, "type_k": 1, "type_v": 1, "swa_full": True,
}  # fmt: skip
MODEL_DEFAULTS: dict[str, object] = {"n_gpu_layers": -1, "use_extra_bufts": True}
CACHE_FIELDS = (*POSITION_FIELDS, "flash_attn_type", "type_k", "type_v", "swa_full")
MAX_TENSOR_BYTES = 1 << 29  # bytes of a tensor that are requantised at once


def _adapt_model(params: Any, _is_repacked: bool) -> None:
    params.load_mtp = False  # prediction heads, which some files have
    params.use_extra_bufts = not has_amx()


def _adapt_context(params: Any, settings: ContextSettings) -> None:
    params.n_outputs_max = settings.max_rows
    params.n_rs_seq = settings.rollback_slots  # ignored for models that cannot
    params.swa_full = True  # otherwise a rollback beyond the window silently corrupts the cache


def has_amx() -> bool:
    """Return whether the matrix kernels for Intel's AMX are compiled in.

    Some compilers build them so that the first batch kills the process (llama.cpp issue 20824).
    They are an "extra buffer type", so weights loaded without those never reach them.
    """
    return b"AMX_INT8 = 1" in c.llama_print_system_info()


def _devices() -> list[str]:
    """Return ggml's description of each device that it sees."""
    device_at, describe = c._lib.ggml_backend_dev_get, c._lib.ggml_backend_dev_description
    device_at.restype, describe.restype = ctypes.c_void_p, ctypes.c_char_p
    devices = map(device_at, range(c._lib.ggml_backend_dev_count()))
    return [describe(ctypes.c_void_p(device)).decode() for device in devices]


def _quantize(source: Path, path: Path) -> str | None:
    params = c.llama_model_quantize_default_params()
    params.nthread = compute_cores()
    params.allow_requantize = True
    params.max_buf_size = MAX_TENSOR_BYTES
    params.pure = True  # including the head, which takes a good part of a small model's time
    params.ftype = c.LLAMA_FTYPE_MOSTLY_Q4_0
    native_log.clear()
    code = c.llama_model_quantize(os.fsencode(source), os.fsencode(path), ctypes.byref(params))
    return native_log.last_errors().rstrip(".") if code else None


def engine() -> EngineLibrary:
    """Return the library."""
    native_log.capture(c)  # first: the library logs while it searches for devices
    return EngineLibrary(
        ENGINES["llama"],
        PACKAGES["llama"],
        c,
        folder=Path(c._lib._name).resolve().parent,
        version=c.llama_version().decode(),
        context_defaults=CONTEXT_DEFAULTS,
        model_defaults=MODEL_DEFAULTS,
        cache_fields=CACHE_FIELDS,
        adapt_model=_adapt_model,
        adapt_context=_adapt_context,
        devices=_devices,
        quantize=_quantize,
        sliding_window=lambda model: int(c.llama_model_n_swa(model)),
        can_repack=not has_amx(),
        offloads_to_gpu=bool(c.llama_supports_gpu_offload()),
    )
