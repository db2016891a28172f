"""How many tokens of a batch a recurrent model can roll back, and the memory that takes.

llama.cpp keeps the states after each of a batch's last tokens, one slot for each. This module knows
their size, and how many its compute graph has room for.
"""

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
    """Return how many slots to ask for, where batches have at most `max_rows` rows.

    A draft is asked for single rows and needs none. `size` is the bytes of all files of a split
    model; by default, those of the one with this header.
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

    def number(key: str) -> int:
        return header.number(key) or 0

    inner, state = number("ssm.inner_size"), number("ssm.state_size")
    convolved = inner + 2 * number("ssm.group_count") * state
    carried = max(0, number("ssm.conv_kernel") - 1) * convolved + inner * state
    width, window = number("embedding_length"), number("shortconv.l_cache")
    if window:
        carried = (window - 1) * width
    if head := number("wkv.head_size"):
        carried = width * (head + (number("token_shift_count") or 2))
    return 4 * carried * _recurrent_layers(header)


def _available_slots(header: Header) -> int:
    """Return the most slots that llama.cpp's compute graph can have.

    It allocates a fixed number of nodes for each tensor, and aborts the process if they are too
    few. Each slot takes three nodes in every recurrent layer.
    """
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
