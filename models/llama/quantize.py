"""Write a GGUF file anew with other types of weights or fewer layers, in a process of its own.

llama.cpp cannot be stopped while it quantises, and ends its process over some files.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import llama_cpp.llama_cpp as c

from models import child_process
from models.errors import ModelError
from models.llama import library
from models.machine import physical_cores
from models.native import complaints

KINDS = {"F16": 1, "Q4_0": 2, "Q8_0": 7}
"""llama.cpp's numbers of the file types that can be asked for."""
MAX_TENSOR_BYTES = 1 << 29  # bytes of a tensor that are worked on at once


def quantize(source: Path, place: Path, kind: str | None, dropped: Sequence[int] = ()) -> None:
    """Write `source` to `place`, every matrix as `kind` (None: as it is) and layers left out.

    Raises:
        ModelError: llama.cpp cannot; the text has its reason. What it wrote is for the caller to
            remove.
    """
    layers = ",".join(map(str, dropped))
    process = child_process.start(
        __name__,
        source,
        place,
        kind or "",
        layers,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        _, said = process.communicate()
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        lines = said.decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1] if process.returncode == 1 and lines else "llama.cpp ended abruptly"
        raise ModelError(f"llama.cpp cannot requantise {source}: {reason}.")


def _quantize(source: str, place: str, kind: str, layers: str) -> str | None:
    """Do it, here; return what went wrong, or None."""
    library.start()
    params = c.llama_model_quantize_default_params()
    params.nthread = physical_cores()
    params.allow_requantize = True
    params.max_buf_size = MAX_TENSOR_BYTES
    params.pure = True  # the head too, which takes a good part of a small model's time
    params.only_copy = not kind
    params.ftype = KINDS.get(kind, 0)
    dropped = [int(layer) for layer in layers.split(",") if layer]
    if dropped:
        params.prune_layers = (ctypes.c_int32 * (len(dropped) + 1))(*dropped, -1)
    complaints.forget()
    code = c.llama_model_quantize(os.fsencode(source), os.fsencode(place), ctypes.byref(params))
    return complaints.said().rstrip(".") if code else None


if __name__ == "__main__":
    child_process.die_with(int(sys.argv[-1]))
    problem = _quantize(*sys.argv[1:-1])
    if problem:
        print(problem, file=sys.stderr)
    sys.exit(1 if problem else 0)
