"""A GGUF file as pieces that can be put together anew: raw values, and where each tensor is."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from models.gguf.opening import reading
from models.gguf.tensors import Tensor, read_table
from models.gguf.values import Malformed


@dataclass(frozen=True, slots=True)
class FileLayout:
    """What lies where in a file."""

    path: Path
    values: Mapping[str, bytes]  # by key, each as it is in the file: its type, then the rest
    tensors: tuple[Tensor, ...]
    alignment: int
    data: int  # where the offsets of tensors begin


def read_layout(path: Path) -> FileLayout:
    """Read all of a header; a `ModelError` says why that cannot be done.

    Meant for a file whose header was read before, with `read`: only what is read here is checked.
    """
    with reading(path) as stream:
        stream.number("<I")
        tensors = stream.number("<Q")
        values: dict[str, bytes] = {}
        alignment: object = 32
        for _ in range(stream.number("<Q")):
            key, start = str(stream.text()), stream.position
            value = stream.value()
            alignment = value if key == "general.alignment" else alignment
            values[key] = stream.since(start)
        if not isinstance(alignment, int):
            raise Malformed("its alignment is no number")
        table = read_table(stream, tensors)
        data = -(-stream.position // alignment) * alignment
    return FileLayout(path, values, table, alignment, data)
