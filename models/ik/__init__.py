"""ik_llama.cpp, a fork with its own kernels: the only place that imports ik_llama_cpp.

Here is what it can run, judged by headers alone: nothing of that loads the library.
"""

from models import native as native
from models.gguf.header import Header

ROTATIONS = ("none", "linear", "yarn")
MISREAD = (3, 7)
"""Types of weights, Q4_1 and Q5_1, of which its kernels for 32 and more tokens skip the end of each
row that is no multiple of `WHOLE`. Measured with version 0.1.5 and rows of 192 to 960 weights: all
others of its types are right, and so are these in batches of up to `SOUND` tokens."""
WHOLE = 128
SOUND = 31


def refusal(header: Header) -> str | None:
    """Return why it cannot run a file, or None. It crashes on RoPE types it does not know; and its
    recurrent states, which cannot be rolled back, are less well known than llama.cpp's.
    """
    scaling = header.metadata.get(f"{header.architecture}.rope.scaling.type", "none")
    if scaling not in ROTATIONS:
        return f"it does not support rotations of type {scaling}"
    if header.is_recurrent:
        return "recurrent and hybrid models are run by llama.cpp"
    return None


def widest_batch(header: Header) -> int | None:
    """Return how many tokens it evaluates correctly at once; None where there is no limit."""
    rows = header.tensors.row_lengths
    return SOUND if any(kind in MISREAD and length % WHOLE for kind, length in rows) else None
