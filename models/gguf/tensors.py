"""The table of tensors of a GGUF file, and figures of its weights."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from models.gguf.values import Malformed, Stream

# ggml's types, each as "type/weights in a block/bytes of a block"
_TYPES = """0/1/4 1/1/2 2/32/18 3/32/20 6/32/22 7/32/24 8/32/34 10/256/84 11/256/110 12/256/144
13/256/176 14/256/210 15/256/292 16/256/66 17/256/74 18/256/98 19/256/50 20/32/18 21/256/110
22/256/82 23/256/136 24/1/1 25/1/2 26/1/4 27/1/8 28/1/8 29/256/56 30/1/2 34/256/54 35/256/66
39/32/17 40/64/36 41/128/18"""
_BLOCKS = {
    kind: (weights, size)
    for kind, weights, size in (map(int, entry.split("/")) for entry in _TYPES.split())
}
_TABLE, _OUTPUT, _EXPERTS = "token_embd.weight", "output.weight", "_exps."
_BLOCK_NAME = re.compile(r"blk\.(\d+)\.")
_HEAD = ".nextn."
_MAX_NAME = 64  # llama.cpp's own limit is one less


@dataclass(frozen=True, slots=True)
class Tensor:
    """One entry of the table."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int

    @property
    def size(self) -> int:
        """Its bytes; 0 for a type that is newer than this program."""
        block, size = _BLOCKS.get(self.kind, (1, 0))
        return prod(self.shape) // block * size

    @property
    def is_matrix(self) -> bool:
        """Whether it is multiplied, rather than looked up by token."""
        return len(self.shape) > 1 and self.shape[1] > 1 and not self.name.endswith(_TABLE)


@dataclass(frozen=True, slots=True)
class Tensors:
    """Sums over all tensors of a file."""

    count: int
    parameters: int
    matrices: Mapping[int, int]  # bytes of the matrices, by their type
    read: Mapping[int, int]  # bytes that are read for each token, by their type
    prompt: int  # weights that are multiplied for each token of a prefill, which has no output
    row_lengths: frozenset[tuple[int, int]] = frozenset()
    """The types and row lengths, in weights, of all tensors with rows."""
    blocks: int = 0  # how many blocks have tensors
    heads: int = 0  # how many of them predict further tokens (MTP), and are not layers of the model


def read_tensors(stream: Stream, count: int, alignment: int, active: float) -> Tensors:
    """Read the table of tensors; refuse one that reaches beyond the end of the file.

    `active` is the share of the experts that each token uses.
    """
    tensors = read_table(stream, count)
    start = -(-stream.position // alignment) * alignment
    last = max(tensors, key=lambda tensor: tensor.offset + tensor.size, default=None)
    if last and start + last.offset + last.size > stream.size:
        missing = start + last.offset + last.size - stream.size
        raise Malformed(f"its last {missing} bytes are missing ({last.name} is outside it)")
    names = {tensor.name for tensor in tensors}
    output = _OUTPUT if _OUTPUT in names else _TABLE  # the embedding table may be the output
    matrices, read, prompt = Counter[int](), Counter[int](), 0.0
    for tensor in tensors:
        share = active if _EXPERTS in tensor.name else 1.0
        if tensor.is_matrix:
            matrices[tensor.kind] += tensor.size
        if tensor.is_matrix or tensor.name == output:
            read[tensor.kind] += round(share * tensor.size)
        if tensor.is_matrix and tensor.name != output:
            prompt += share * prod(tensor.shape)
    parameters = sum(prod(tensor.shape) for tensor in tensors)
    rows = frozenset((tensor.kind, tensor.shape[0]) for tensor in tensors if len(tensor.shape) > 1)
    blocks = _count_blocks(names), _count_blocks(name for name in names if _HEAD in name)
    return Tensors(count, parameters, +matrices, +read, round(prompt), rows, *blocks)


def _count_blocks(names: Iterable[str]) -> int:
    return len({block[1] for name in names if (block := _BLOCK_NAME.match(name))})


def read_table(stream: Stream, count: int) -> tuple[Tensor, ...]:
    """Read the table of tensors."""
    return tuple(_read(stream) for _ in range(count))


def _read(stream: Stream) -> Tensor:
    name = stream.text(_MAX_NAME)
    dimensions = stream.number("<I")
    if not 1 <= dimensions <= 4:
        raise Malformed(f"the tensor {name!r} has {dimensions} dimensions")
    shape = tuple(stream.number("<Q") for _ in range(dimensions))
    return Tensor(str(name), shape, stream.number("<I"), stream.number("<Q"))
