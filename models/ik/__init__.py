"""ik_llama.cpp, a fork with its own kernels: the only place that imports ik_llama_cpp.

This module judges by headers which files it can run, and chooses its library, without loading it.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from models import native as native
from models.engines import PACKAGES
from models.gguf.header import Header
from models.machine import cpuinfo

ROTATIONS = ("none", "linear", "yarn")
MISREAD = (3, 7)
"""Types of weights, Q4_1 and Q5_1: its kernels for 32 and more tokens skip the end of rows whose
length is not a multiple of `WHOLE`. Measured with version 0.1.5 and rows of 192 to 960 weights: all
other types are right, and so are these in batches of up to `SOUND` tokens."""
WHOLE = 128
SOUND = 31
COMPILED = Path(sys.prefix) / "native" / "lib" / "libllama.so"
"""The library that `make native` compiles for this processor."""
USED = COMPILED.parents[1] / "used"
"""Exists if the compiled library is used; it has the `conditions` under which it was chosen."""
VARIABLE = "IK_LLAMA_CPP_LIB_PATH"
"""The package's own variable for the library that it loads; it has precedence."""


def unsupported_reason(header: Header) -> str | None:
    """Return why it cannot run a file, or None.

    It crashes on unknown RoPE types, and cannot roll back recurrent states.
    """
    scaling = header.metadata.get(f"{header.architecture}.rope.scaling.type", "none")
    if scaling not in ROTATIONS:
        return f"it does not support rotations of type {scaling}"
    return "it does not run recurrent or hybrid models" if header.is_recurrent else None


def widest_batch(header: Header) -> int | None:
    """Return how many tokens it evaluates correctly at once; None where there is no limit."""
    rows = header.tensors.row_lengths
    return SOUND if any(kind in MISREAD and length % WHOLE for kind, length in rows) else None


def compiled_library() -> Path | None:
    """Return the library to load instead of the wheel's; None: there is none for this machine."""
    with suppress(OSError):
        if VARIABLE not in os.environ and {*USED.read_text().split()} <= conditions():
            return COMPILED
    return None


def conditions() -> set[str]:
    """Return the package's version and Linux's words for the processor; elsewhere an `OSError`."""
    first, _, _ = cpuinfo().partition("\n\n")
    return {PACKAGES["ik"].version, *filter(str.isidentifier, first.split())}
