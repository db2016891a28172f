"""Rewrite a GGUF file from the pieces of another: raw values, and one tensor at a time.

Its vocabulary may lose rarely used tokens; the rest keeps its order.
"""

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np

from models.base import Ids
from models.errors import ModelError
from models.gguf.header import MERGES
from models.gguf.tensors import Tensor, read_table
from models.gguf.values import ARRAY, STRING, Stream, open_stream
from models.gguf.vocabulary import NORMAL, TOKENIZER, TOKENS, FileVocabulary

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

    Meant for a file whose header was read before, with `read`, which checks more.
    """
    with open_stream(path) as (stream, tensors, count):
        values: dict[str, bytes] = {}
        for key in stream.keys(count):
            start, _ = stream.position, stream.value()
            values[key] = stream.since(start)
        alignment = int.from_bytes(values.get("general.alignment", number_value(32))[4:], "little")
        table = read_table(stream, tensors)
        data = -(-stream.position // alignment) * alignment
    return FileLayout(path, values, table, alignment, data)


def write(
    layout: FileLayout, path: Path, values: Mapping[str, bytes], ids: Ids | None = None
) -> None:
    """Write a file with other metadata, and of `MATRICES` only the rows `ids`.

    A `ModelError` says that the file has tensors of a type that is newer than this program.
    """
    for tensor in layout.tensors:
        if not tensor.size:
            raise ModelError(f"{layout.path} has weights of type {tensor.kind}, unknown here.")
    rows = {name: ids for name in MATRICES if ids is not None}
    table = _table(layout.tensors, rows, layout.alignment)
    with path.open("wb") as file:
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
    header += b"".join(length_and_text(key.encode()) + value for key, value in values.items())
    for tensor in table:
        header += length_and_text(tensor.name.encode())
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


def length_and_text(text: bytes) -> bytes:
    """Return a text and its length, as names and elements of arrays are written."""
    return struct.pack("<Q", len(text)) + text


def text_value(value: str) -> bytes:
    """Return a text as a value: its type, then the rest."""
    return struct.pack("<I", STRING) + length_and_text(value.encode())


def number_value(value: int) -> bytes:
    """Return an unsigned 32-bit integer as a value."""
    return struct.pack("<II", _UINT32, value)


def texts_value(values: Sequence[bytes]) -> bytes:
    """Return an array of texts as a value."""
    return struct.pack("<IIQ", ARRAY, STRING, len(values)) + b"".join(map(length_and_text, values))


_TRIMMED = ("gpt2", "llama")  # tokenizers that work with any part of their vocabulary


def most_frequent(vocabulary: FileVocabulary, size: int) -> Ids:
    """Return the ids of about `size` tokens to keep, ascending: those that are used most.

    Vocabularies are built in order of frequency. Control tokens and single bytes are always kept.
    """
    used = [token for token in range(vocabulary.size) if not vocabulary.is_unused(token)]
    needed, others = list[int](), list[int]()
    for token in used:
        plain = vocabulary.kind(token) == NORMAL and len(vocabulary.piece(token)) > 1
        (others if plain else needed).append(token)
    return np.sort(np.array([*needed, *others[: max(0, size - len(needed))]], np.intp))


def trimmed(values: Mapping[str, bytes], ids: Ids, n_vocab: int) -> dict[str, bytes]:
    """Return the metadata of a file with only the tokens `ids`, if its tokenizer allows it."""
    kind = values.get(TOKENIZER, b"")[12:].decode("utf-8", "replace")
    if kind not in _TRIMMED:
        raise ModelError(f"Tokens cannot be removed from a vocabulary of type {kind!r}.")
    names = _texts(values[TOKENS])
    remaining = [names[i] for i in ids]
    changed = dict(values)
    for key, value in values.items():
        if key == TOKENS:
            changed[key] = texts_value(remaining)
        elif key == MERGES:
            changed[key] = texts_value(_merges(value, set(remaining)))
        elif key.endswith(".vocab_size"):
            changed[key] = number_value(len(ids))
        elif not key.endswith("_token_id"):
            changed[key] = _pick(value, ids, n_vocab)
        elif (token := _new_id(value, ids)) is not None:
            changed[key] = number_value(token)
        else:
            del changed[key]
    return changed


def _texts(value: bytes) -> list[bytes]:
    return Stream(BytesIO(value), len(value)).texts()


def _merges(value: bytes, remaining: set[bytes]) -> list[bytes]:
    merges = [(merge, *merge[1:].partition(b" ")[::2]) for merge in _texts(value)]
    return [
        merge
        for merge, first, second in merges
        if {merge[:1] + first, second, merge[:1] + first + second} <= remaining
    ]


def _new_id(value: bytes, ids: Ids) -> int | None:
    """Return the new id of the token that a value names; None if it is removed."""
    token = int.from_bytes(value[4:], "little")
    index = int(np.searchsorted(ids, token))
    return index if index < len(ids) and ids[index] == token else None


def _pick(value: bytes, ids: Ids, n_vocab: int) -> bytes:
    """Return the elements `ids` of an array with one number per token; anything else unchanged."""
    kind, inner, count = struct.unpack("<IIQ", value[:16].ljust(16, b"\0"))
    if kind != ARRAY or inner in (STRING, ARRAY) or count != n_vocab:
        return value
    numbers = np.frombuffer(value, np.uint8, offset=16).reshape(count, -1)
    return struct.pack("<IIQ", kind, inner, len(ids)) + numbers[ids].tobytes()
