"""How much memory a model will take, estimated before it is loaded.

Measured against the resident memory of a process that loaded the file and read 600 tokens.
"""

import sys
from dataclasses import dataclass
from typing import Literal

import psutil

from models.files.model_file import ModelFile
from models.gguf import Header
from models.rollback import rollback_slots, state_bytes

Verdict = Literal["fits", "tight", "too large"]
BATCH = 256  # tokens that are evaluated at once, as `models.native.model` does
ROWS = 32  # rows of logits in a target's buffer; a draft has one
_FLOAT = 4
_BYTES_PER_TOKEN_TEXT = 300  # of the vocabulary, and of the maps to search it
_REPACKED = (2, 12, 20, 39)  # Q4_0, Q4_K, IQ4_NL, MXFP4: what llama.cpp's CPU kernels rearrange
# Most weights of about 4 bits are held twice on a CPU; the cache comes on top.
_TIMES_BY_SIZE = {"4": 1.75, "other": 1.2}
CONTEXT = 8192  # tokens
SHARE = 0.25  # of the free memory, which the keys and values of a larger context may take
MACHINES = 8, 16, 32  # GB of memory of usual machines
_FOR_THE_REST = 4  # GB, for the system and other programs


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that a loaded model takes."""

    weights: int  # the file, mapped
    repacked: int  # while loading: some weights twice, the file's and those for the CPU's kernels
    cache: int  # keys and values of a full context
    states: int  # of a recurrent model: the state, and those to roll back to
    buffers: int  # what a batch is computed in, logits, the vocabulary

    @property
    def needed(self) -> int:
        """The total at its peak."""
        return self.weights + self.repacked + self.cache + self.states + self.buffers

    @property
    def resident(self) -> int:
        """The bytes after loading: the file's pages of repacked weights are released."""
        return self.needed - self.repacked

    def __add__(self, other: "Memory") -> "Memory":
        """Return what both take when `other` is loaded after this one."""
        return Memory(
            self.weights + other.weights,
            max(self.repacked - other.resident, other.repacked),
            self.cache + other.cache,
            self.states + other.states,
            self.buffers + other.buffers,
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether this machine has enough memory."""

    needed: int
    available: int
    verdict: Verdict


def estimate(header: Header, size: int, n_ctx: int, *, drafts: bool = False) -> Memory:
    """Return the memory of a model with files of `size` bytes and room for `n_ctx` tokens."""
    n_ctx, n_vocab = min(n_ctx, header.n_ctx_train or n_ctx), header.n_vocab or 0
    rows = 2 * (1 if drafts else ROWS) * n_vocab
    embedding = header.number("embedding_length") or 0
    # How many numbers the widest layer keeps for a token; measured, not derived.
    width = 5 * embedding + 2 * (header.number("feed_forward_length") or 4 * embedding)
    graph = BATCH * (width + n_ctx)
    repacked = sum(header.tensors.matrices.get(kind, 0) for kind in _REPACKED)
    slots = rollback_slots(header, 1 if drafts else ROWS, size)
    return Memory(
        size,
        repacked if repacks() else 0,
        n_ctx * (header.kv_bytes_per_token or 0),
        # The current one, one for each token that can be rolled back, and a copy.
        state_bytes(header) * (2 + slots),
        _FLOAT * (rows + graph) + _BYTES_PER_TOKEN_TEXT * n_vocab,
    )


def auto_ctx(header: Header) -> int:
    """Return the context that a model gets by default: it takes memory as it fills.

    It is `CONTEXT` tokens, and doubled while the model was trained for so many and their keys and
    values take no more than a quarter of the memory that is free.
    """
    tokens, trained = CONTEXT, header.n_ctx_train or CONTEXT
    limit = psutil.virtual_memory().available * SHARE / (header.kv_bytes_per_token or 1)
    while header.moves_cache and 2 * tokens <= min(trained, limit):
        tokens *= 2
    return min(tokens, trained)


def of_pair(target: ModelFile, draft: ModelFile | None, n_ctx: int) -> Memory | None:
    """Return what a target and its draft take together; None if a header says too little."""
    if target.header is None or (draft and draft.header is None):
        return None
    memory = estimate(target.header, target.size, n_ctx)
    if draft and draft.header:
        memory += estimate(draft.header, draft.size, n_ctx, drafts=True)
    return memory


def estimate_by_size(size: int, file: str) -> int:
    """Estimate the memory of a model from its file's name and size."""
    four_bits = any(mark in file.upper() for mark in ("Q4_K", "Q4_0", "IQ4_NL", "MXFP4"))
    return round(size * _TIMES_BY_SIZE["4" if four_bits and repacks() else "other"])


def resident_by_size(size: int) -> int:
    """Estimate the memory that loaded files of `size` bytes keep."""
    return round(size * _TIMES_BY_SIZE["other"])


def machine(size: int) -> int | None:
    """Return the GB of memory of the smallest usual machine that runs files of `size` bytes."""
    needed = resident_by_size(size) / 1e9 + _FOR_THE_REST
    return next((gigabytes for gigabytes in MACHINES if needed <= gigabytes), None)


def repacks() -> bool:
    """Say whether weights are rearranged for the CPU: not if a GPU computes."""
    return sys.platform != "darwin"


def fit(needed: int, resident: int | None = None, freed: int = 0) -> Fit:
    """Compare `needed` bytes with the memory available now plus `freed` bytes to be released."""
    available = psutil.virtual_memory().available + freed
    if needed <= available:
        return Fit(needed, available, "fits")
    return Fit(needed, available, "tight" if (resident or needed) <= available else "too large")


def in_use() -> int:
    """Return the bytes of memory of this program and its children, without mapped files."""
    process = psutil.Process()
    return sum(map(_own, (process, *process.children(recursive=True))))


def _own(process: psutil.Process) -> int:
    try:
        memory = process.memory_info()
    except psutil.Error:  # it has ended meanwhile
        return 0
    return max(0, int(memory.rss - getattr(memory, "shared", 0)))
