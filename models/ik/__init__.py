"""ik_llama.cpp, a fork with its own kernels: the only place that imports ik_llama_cpp.

Here is what it can run, judged by headers alone, and which library does: nothing of that loads it.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from models import native as native
from models.engines import PACKAGES
from models.gguf.header import Header

ROTATIONS = ("none", "linear", "yarn")
MISREAD = (3, 7)
"""Types of weights, Q4_1 and Q5_1, of which its kernels for 32 and more tokens skip the end of each
row that is no multiple of `WHOLE`. Measured with version 0.1.5 and rows of 192 to 960 weights: all
others of its types are right, and so are these in batches of up to `SOUND` tokens."""
WHOLE = 128
SOUND = 31
COMPILED = Path(sys.prefix) / "native" / "lib" / "libllama.so"
"""What `make native` compiles for this processor."""
USED = COMPILED.parents[1] / "used"
"""Is there if that is used instead of the wheel's library: what `here` was when it was chosen."""
VARIABLE = "IK_LLAMA_CPP_LIB_PATH"
"""The package's own variable for the library that it loads. Where it is set, it decides."""


def refusal(header: Header) -> str | None:
    """Return why it cannot run a file, or None. It crashes on RoPE types it does not know; and its
    recurrent states, which cannot be rolled back, are less well known than llama.cpp's.
    """
    scaling = header.metadata.get(f"{header.architecture}.rope.scaling.type", "none")
    if scaling not in ROTATIONS:
        return f"it does not support rotations of type {scaling}"
    if header.is_recurrent:
        return "it does not run recurrent or hybrid models"
    return None


def widest_batch(header: Header) -> int | None:
    """Return how many tokens it evaluates correctly at once; None where there is no limit."""
    rows = header.tensors.row_lengths
    return SOUND if any(kind in MISREAD and length % WHOLE for kind, length in rows) else None


def compiled() -> Path | None:
    """Return the library to load instead of the wheel's; None: there is none for this machine."""
    with suppress(OSError):
        if VARIABLE not in os.environ and {*USED.read_text().split()} <= here():
            return COMPILED
    return None


def here() -> set[str]:
    """Return the version, and the words that Linux has for the processor and its features.

    Raises:
        OSError: this is not Linux.
    """
    first, _, _ = Path("/proc/cpuinfo").read_text("utf-8", "replace").partition("\n\n")
    return {PACKAGES["ik"].version, *filter(str.isidentifier, first.split())}
