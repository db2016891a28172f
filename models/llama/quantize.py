"""Requantise a file with llama.cpp: the process that `models.native.quantize` starts."""

import ctypes
import os
import sys

import llama_cpp.llama_cpp as c

from models import child_process
from models.llama import library
from models.machine import physical_cores
from models.native import native_log

KINDS = {"Q4_0": 2, "Q8_0": 7}
"""llama.cpp's numbers of the file types that can be requested."""
MAX_TENSOR_BYTES = 1 << 29  # bytes of a tensor that are worked on at once


def _quantize(source: str, place: str, kind: str) -> str | None:
    """Do it in this process; return what went wrong, or None."""
    library.engine().start()
    params = c.llama_model_quantize_default_params()
    params.nthread = physical_cores()
    params.allow_requantize = True
    params.max_buf_size = MAX_TENSOR_BYTES
    params.pure = True  # including the head, which takes a good part of a small model's time
    params.ftype = KINDS[kind]
    native_log.clear()
    code = c.llama_model_quantize(os.fsencode(source), os.fsencode(place), ctypes.byref(params))
    return native_log.last_errors().rstrip(".") if code else None


if __name__ == "__main__":
    child_process.die_with(int(sys.argv[-1]))
    problem = _quantize(*sys.argv[1:-1])
    if problem:
        print(problem, file=sys.stderr)
    sys.exit(1 if problem else 0)
