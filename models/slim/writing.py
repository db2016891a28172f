"""Rewrite a GGUF file from the pieces of another: raw values, and one tensor at a time."""

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from models.base import Ids
from models.errors import ModelError
from models.gguf.opening import reading
from models.gguf.tensors import Tensor, read_table
from models.gguf.values import ARRAY, STRING, Malformed

MATRICES = ("token_embd.weight", "output.weight", "output.bias", "per_layer_token_embd.weight")
"""Tensors with a row for each token."""
_VERSION = 3
_UINT32 = 4
_PIECE = 1 << 22  # bytes


@dataclass(frozen=True, slots=True)
class FileLayout:
    """The layout of a file."""

    path: Path
    values: Mapping[str, bytes]  # by key, each as in the file: its type, then the rest
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
        for key in stream.keys(stream.number("<Q")):
            start, value = stream.position, stream.value()
            alignment = value if key == "general.alignment" else alignment
            values[key] = stream.since(start)
        if not isinstance(alignment, int):
            raise Malformed("its alignment is not a number")
        table = read_table(stream, tensors)
        data = -(-stream.position // alignment) * alignment
    return FileLayout(path, values, table, alignment, data)


def write(
    layout: FileLayout, place: Path, values: Mapping[str, bytes], ids: Ids | None = None
) -> None:
    """Write a file with other metadata, and of `MATRICES` only the rows `ids`.

    Raises:
        ModelError: the file has tensors of a type that is newer than this program.
        OSError: it cannot be read or written.
    """
    for tensor in layout.tensors:
        if not tensor.size:
            raise ModelError(f"{layout.path} has weights of type {tensor.kind}, unknown here.")
    rows = {name: ids for name in MATRICES if ids is not None}
    table = _table(layout.tensors, rows, layout.alignment)
    with place.open("wb") as file:
        file.write(_header(values, table, layout.alignment))
        for old, new in zip(layout.tensors, table, strict=True):
            file.writelines(_pieces(layout, old, rows.get(old.name)))
            file.write(bytes(-new.size % layout.alignment))
        file.flush()
        os.fsync(file.fileno())


def _table(tensors: Sequence[Tensor], rows: Mapping[str, Ids], alignment: int) -> list[Tensor]:
    table: list[Tensor] = []
    offset = 0
    for tensor in tensors:
        ids = rows.get(tensor.name)
        shape = tensor.shape if ids is None else (*tensor.shape[:-1], len(ids))
        table.append(replace(tensor, shape=shape, offset=offset))
        offset += -(-table[-1].size // alignment) * alignment
    return table


def _header(values: Mapping[str, bytes], table: list[Tensor], alignment: int) -> bytes:
    header = struct.pack("<4sIQQ", b"GGUF", _VERSION, len(table), len(values))
    header += b"".join(string(key.encode()) + value for key, value in values.items())
    for tensor in table:
        header += string(tensor.name.encode())
        header += struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
        header += struct.pack("<IQ", tensor.kind, tensor.offset)
    return header + bytes(-len(header) % alignment)


def _pieces(layout: FileLayout, tensor: Tensor, ids: Ids | None) -> Iterator[bytes]:
    """Yield the bytes of a tensor, or of its rows `ids`, without holding them all."""
    count = tensor.shape[-1]
    size = tensor.size // count
    # A map of the file; only the needed parts are ever read.
    rows = np.memmap(layout.path, np.uint8, "r", layout.data + tensor.offset, (count, size))
    step = max(1, _PIECE // max(1, size))
    picked = count if ids is None else len(ids)
    for start in range(0, picked, step):
        part = slice(start, start + step)
        yield (rows[part] if ids is None else rows[ids[part]]).tobytes()


def string(text: bytes) -> bytes:
    """Return a text and its length, as names and elements of arrays are written."""
    return struct.pack("<Q", len(text)) + text


def text(value: str) -> bytes:
    """Return a text as a value: its type, then the rest."""
    return struct.pack("<I", STRING) + string(value.encode())


def number(value: int) -> bytes:
    """Return an unsigned 32-bit integer as a value."""
    return struct.pack("<II", _UINT32, value)


def texts(values: Sequence[bytes]) -> bytes:
    """Return an array of texts as a value."""
    return struct.pack("<IIQ", ARRAY, STRING, len(values)) + b"".join(map(string, values))
