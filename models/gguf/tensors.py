"""Whether the weights that a header announces are in the file."""

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
_MOST_WEIGHTS = 1 << 48
_LONGEST_NAME = 1024


def check_extents(stream: Stream, tensors: int, alignment: int) -> None:
    """Read the table of tensors and refuse one that reaches beyond the end of the file."""
    ends = [_end(stream) for _ in range(tensors)]
    start = -(-stream.position // alignment) * alignment
    name, end = max(ends, key=lambda tensor: tensor[1], default=("", 0))
    if start + end > stream.size:
        missing = start + end - stream.size
        raise Malformed(f"its last {missing} bytes are missing ({name} is not within it)")


def _end(stream: Stream) -> tuple[str, int]:
    name = stream.text(_LONGEST_NAME)
    dimensions = stream.number("<I")
    if not 1 <= dimensions <= 4:
        raise Malformed(f"the tensor {name!r} has {dimensions} dimensions")
    shape = [stream.number("<Q") for _ in range(dimensions)]
    kind, offset = stream.number("<I"), stream.number("<Q")
    weights = prod(shape)
    if not 0 < weights < _MOST_WEIGHTS or offset > stream.size:
        raise Malformed(f"the tensor {name!r} has an impossible shape or place")
    # Of a type that is newer than this table only the beginning can be checked.
    block, size = _BLOCKS.get(kind, (_MOST_WEIGHTS, 1))
    if shape[0] % block and kind in _BLOCKS:
        raise Malformed(f"the rows of the tensor {name!r} are no whole blocks")
    return str(name), offset + weights // block * size
