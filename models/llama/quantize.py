"""Requantise a file with llama.cpp: the process that `models.native.quantize` starts."""

import ctypes
import json
import os
import re
import sys
from collections.abc import Mapping

import llama_cpp.llama_cpp as c

from models import child_process
from models.llama import library
from models.machine import physical_cores
from models.native import complaints

KINDS = {"F16": 1, "Q4_0": 2, "Q8_0": 7}
"""llama.cpp's numbers of the file types that can be requested."""
MAX_TENSOR_BYTES = 1 << 29  # bytes of a tensor that are worked on at once
_Q2_K = 10


def _quantize(
    source: str, place: str, kind: str, layers: str, *, kinds: Mapping[str, int]
) -> str | None:
    """Do it in this process; return what went wrong, or None."""
    library.start()
    params = c.llama_model_quantize_default_params()
    params.nthread = physical_cores()
    params.allow_requantize = True
    params.max_buf_size = MAX_TENSOR_BYTES
    params.pure = True  # including the head, which takes a good part of a small model's time
    params.only_copy = not kind and not kinds
    params.ftype = KINDS.get(kind, 0)
    if kinds:
        # An override equal to the default type would be ignored, so the default is a rare one.
        params.pure, params.ftype = False, _Q2_K
        params.tt_overrides = _overrides(kinds)
    dropped = [int(layer) for layer in layers.split(",") if layer]
    if dropped:
        params.prune_layers = (ctypes.c_int32 * (len(dropped) + 1))(*dropped, -1)
    complaints.forget()
    code = c.llama_model_quantize(os.fsencode(source), os.fsencode(place), ctypes.byref(params))
    return complaints.said().rstrip(".") if code else None


def _overrides(kinds: Mapping[str, int]) -> "ctypes.Array[c.llama_model_tensor_override]":
    """Return patterns of names and their types as llama.cpp reads them, up to an empty one."""
    overrides: ctypes.Array[c.llama_model_tensor_override] = (
        c.llama_model_tensor_override * (len(kinds) + 1)
    )()
    for override, (name, kind) in zip(overrides, kinds.items(), strict=False):
        override.pattern, override.type = f"^{re.escape(name)}$".encode(), kind
    return overrides


if __name__ == "__main__":
    child_process.die_with(int(sys.argv[-1]))
    problem = _quantize(*sys.argv[1:-1], kinds=json.load(sys.stdin))
    if problem:
        print(problem, file=sys.stderr)
    sys.exit(1 if problem else 0)
