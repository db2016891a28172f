"""How much memory a model will take, estimated before it is loaded.

Measured against the resident memory of a process that loaded the file and read 600 tokens.
"""

import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import psutil

from models import machine
from models.files.model_file import ModelFile
from models.gguf.header import Header

SHARE = 0.1  # the share of the weights' memory that the slots may take
ROLLS_BACK = (
    "qwen35", "qwen35moe", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe", "kimi_k3",
    "glm5_next", "bailingmoe3",
)  # fmt: skip
"""Architectures of which llama.cpp keeps the states of a batch's last tokens."""
NODES_PER_TENSOR = {"lfm2": 5, "lfm2moe": 6, "nemotron_h": 6, "nemotron_h_moe": 6}
"""Nodes that a graph has for each tensor, besides the states it keeps; measured, and rounded up."""


def rollback_slots(header: Header, max_rows: int, size: int | None = None) -> int:
    """Return how many tokens a recurrent model can roll back, of batches of up to `max_rows` rows.

    llama.cpp keeps the states after each of a batch's last tokens, one slot for each. A draft is
    asked for single rows and needs none. `size` is the bytes of all files of a split model; by
    default, those of the one with this header.
    """
    state = state_bytes(header)
    if header.architecture not in ROLLS_BACK or not state:
        return 0
    return min(max_rows - 1, _available_slots(header), int(SHARE * (size or header.size) / state))


def state_bytes(header: Header) -> int:
    """Return the bytes of the recurrent state of one text, at 32 bits a number; 0 without one.

    It is what llama.cpp allocates: the inputs that a convolution still needs, and the state that
    passes from token to token. Architectures with another layout count as 0.
    """
    names = "inner_size", "state_size", "group_count", "conv_kernel"
    inner, state, groups, kernel = (header.number(f"ssm.{name}") or 0 for name in names)
    carried = max(0, kernel - 1) * (inner + 2 * groups * state) + inner * state
    width = header.number("embedding_length") or 0
    if window := header.number("shortconv.l_cache"):
        carried = (window - 1) * width
    if head := header.number("wkv.head_size"):
        carried = width * (head + (header.number("token_shift_count") or 2))
    return 4 * carried * _recurrent_layers(header)


def _available_slots(header: Header) -> int:
    # llama.cpp allocates a fixed number of nodes for each tensor, and aborts the process if they
    # are too few. Each slot takes three nodes in every recurrent layer.
    split = header.metadata.get("split.tensors.count")
    tensors = split if isinstance(split, int) and split else header.tensors.count
    nodes = NODES_PER_TENSOR.get(header.architecture or "")
    free = max(1024, (8 if nodes else 32) * tensors) - (nodes or 6) * tensors
    return max(0, free // (3 * max(1, _recurrent_layers(header))) - 1)


def _recurrent_layers(header: Header) -> int:
    """Return how many layers have a state, in a file where some have one."""
    layers, kind = header.layers or 0, header.architecture
    if kind in ("qwen35", "qwen35moe", "qwen3next"):
        return layers - layers // (header.number("full_attention_interval") or 4)
    heads = header.metadata.get(f"{kind}.attention.head_count_kv")
    if not isinstance(heads, tuple):
        return layers
    networks = header.metadata.get(f"{kind}.feed_forward_length")
    if kind not in ("nemotron_h", "nemotron_h_moe") or not isinstance(networks, tuple):
        return heads.count(0)
    return list(zip(heads, networks, strict=False)).count((0, 0))


BATCH = 256  # tokens that are evaluated at once, as `models.native.model` does
ROWS = 32  # rows of logits in a target's buffer; a draft has one
_FLOAT = 4
_BYTES_PER_TOKEN_TEXT = 300  # of the vocabulary, and of the maps to search it
_REPACKED = (2, 12, 20, 39)  # Q4_0, Q4_K, IQ4_NL, MXFP4: what llama.cpp's CPU kernels rearrange
# By the size of a file: its cache comes on top, and most weights of about 4 bits are repacked.
_RESIDENT, _4_BITS_REPACKED = 1.2, 0.55
CONTEXT = 8192  # tokens
CONTEXT_SHARE = 0.25  # of the free memory, for the keys and values of a larger context
MACHINES = 8, 16, 32  # GB of memory of usual machines
_FOR_THE_REST = 4  # GB, for the system and other programs


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether this machine has enough memory."""

    needed: int  # once it is loaded; where it is tight, loading takes more
    available: int
    verdict: Literal["fits", "tight", "does not fit"]


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that a loaded model takes."""

    resident: int  # after loading: the file's pages of repacked weights are released
    repacked: int  # while loading: some weights twice, the file's and those for the CPU's kernels

    @property
    def needed(self) -> int:
        """The total at its peak."""
        return self.resident + self.repacked

    def __add__(self, other: "Memory") -> "Memory":
        """Return what both take when `other` is loaded after this one."""
        repacked = max(self.repacked - other.resident, other.repacked)
        return Memory(self.resident + other.resident, repacked)

    def fit(self, freed: int = 0) -> Fit:
        """Compare it with what is available now plus `freed` bytes to be released."""
        available = machine.memory().free + freed
        if self.needed <= available:
            return Fit(self.resident, available, "fits")
        is_tight = self.resident <= available
        return Fit(self.resident, available, "tight" if is_tight else "does not fit")


def estimate(header: Header, size: int, n_ctx: int, *, drafts: bool = False) -> Memory:
    """Return the memory of a model with files of `size` bytes and a context of `n_ctx` tokens."""
    n_ctx, n_vocab = min(n_ctx, header.n_ctx_train or n_ctx), header.n_vocab or 0
    rows = 1 if drafts else ROWS
    embedding = header.number("embedding_length") or 0
    # How many numbers the widest layer keeps for a token; measured, not derived.
    width = 5 * embedding + 2 * (header.number("feed_forward_length") or 4 * embedding)
    buffers = _FLOAT * (2 * rows * n_vocab + BATCH * (width + n_ctx))
    cache = n_ctx * (header.kv_bytes_per_token or 0)
    # The current one, one for each token that can be rolled back, and a copy.
    states = state_bytes(header) * (2 + rollback_slots(header, rows, size))
    repacked = sum(header.tensors.matrices.get(kind, 0) for kind in _REPACKED)
    resident = size + cache + states + buffers + _BYTES_PER_TOKEN_TEXT * n_vocab
    return Memory(resident, repacked if repacks() else 0)


def auto_ctx(header: Header) -> int:
    """Return the context that a model gets by default: it takes memory as it fills.

    It is `CONTEXT` tokens, and doubled while the model was trained for so many and their keys and
    values take no more than a quarter of the memory that is free.
    """
    tokens, trained = CONTEXT, header.n_ctx_train or CONTEXT
    limit = machine.memory().free * CONTEXT_SHARE / (header.kv_bytes_per_token or 1)
    while header.has_movable_cache and 2 * tokens <= min(trained, limit):
        tokens *= 2
    return min(tokens, trained)


def of_pair(target: ModelFile, draft: ModelFile | None, n_ctx: int) -> Memory | None:
    """Return the memory of a target and its draft together; None if a header says too little."""
    if target.header is None or (draft and draft.header is None):
        return None
    memory = estimate(target.header, target.size, n_ctx)
    if draft and draft.header:
        memory += estimate(draft.header, draft.size, n_ctx, drafts=True)
    return memory


def estimate_by_size(size: int, file: str = "") -> Memory:
    """Estimate the memory of a model from its file's size and name."""
    four_bits = any(mark in file.upper() for mark in ("Q4_K", "Q4_0", "IQ4_NL", "MXFP4"))
    repacked = round(_4_BITS_REPACKED * size) if four_bits and repacks() else 0
    return Memory(round(_RESIDENT * size), repacked)


def machine_gb(size: int) -> int | None:
    """Return the GB of memory of the smallest usual machine that runs files of `size` bytes."""
    needed = estimate_by_size(size).resident / 1e9 + _FOR_THE_REST
    return next((gigabytes for gigabytes in MACHINES if needed <= gigabytes), None)


def repacks() -> bool:
    """Return whether weights are rearranged for the CPU: not if a GPU computes."""
    return sys.platform != "darwin"


def in_use() -> int:
    """Return the bytes of memory of this program and its children, without mapped files."""
    process, total = psutil.Process(), 0
    for one in (process, *process.children(recursive=True)):
        with suppress(psutil.Error):  # it has ended meanwhile
            memory = one.memory_info()
            total += max(0, int(memory.rss - getattr(memory, "shared", 0)))
    return total
