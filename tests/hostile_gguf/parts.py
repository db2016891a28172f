"""GGUF files in pieces, to be put together otherwise."""

import struct
from dataclasses import dataclass, replace

STRING, ARRAY = 8, 9
U32, I32, F32, BOOL, U64 = 4, 5, 6, 7, 10
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, U32: 4, I32: 4, F32: 4, BOOL: 1, U64: 8, 11: 8, 12: 8}


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def texts(*values: str | bytes) -> bytes:
    return struct.pack("<IQ", STRING, len(values)) + b"".join(map(text, values))


def numbers(kind: int, layout: str, *values: float) -> bytes:
    return struct.pack(f"<IQ{len(values)}{layout}", kind, len(values), *values)


@dataclass(frozen=True)
class Entry:
    """A tensor as the table has it."""

    name: str
    shape: tuple[int, ...] = (32,)
    kind: int = 0
    offset: int = 0
    dimensions: int | None = None  # None: as many as the shape has

    def packed(self) -> bytes:
        dimensions = len(self.shape) if self.dimensions is None else self.dimensions
        shape = struct.pack(f"<{len(self.shape)}Q", *self.shape)
        end = struct.pack("<IQ", self.kind, self.offset)
        return text(self.name) + struct.pack("<I", dimensions) + shape + end


@dataclass(frozen=True)
class Parts:
    """A GGUF file in pieces; what is None is written as it should be."""

    values: tuple[tuple[str | bytes, int, bytes], ...] = ()
    tensors: tuple[Entry, ...] = ()
    data: bytes = b""
    version: int = 3
    magic: bytes = b"GGUF"
    n_tensors: int | None = None
    n_values: int | None = None
    alignment: int = 32
    padding: bytes | None = None

    def packed(self) -> bytes:
        n_tensors = len(self.tensors) if self.n_tensors is None else self.n_tensors
        n_values = len(self.values) if self.n_values is None else self.n_values
        head = self.magic + struct.pack("<IQQ", self.version, n_tensors, n_values)
        head += b"".join(text(key) + struct.pack("<I", kind) + v for key, kind, v in self.values)
        head += b"".join(entry.packed() for entry in self.tensors)
        padding = bytes(-len(head) % self.alignment) if self.padding is None else self.padding
        return head + padding + self.data

    def header_size(self) -> int:
        return len(replace(self, data=b"", padding=b"").packed())

    def changed(self, key: str, kind: int, value: bytes) -> "Parts":
        """Return the file with another value, instead of the old one or at the end."""
        new = key, kind, value
        if key not in [name for name, _, _ in self.values]:
            return replace(self, values=(*self.values, new))
        return replace(self, values=tuple(new if old[0] == key else old for old in self.values))

    def value(self, key: str) -> bytes:
        return next(value for name, _, value in self.values if name == key)


def taken_apart(data: bytes) -> Parts:
    """Return the pieces of a sound file."""
    at = 4

    def number(layout: str) -> int:
        nonlocal at
        value = struct.unpack_from("<" + layout, data, at)[0]
        at += struct.calcsize(layout)
        return int(value)

    def string() -> str:
        nonlocal at
        length = number("Q")
        at += length
        return data[at - length : at].decode()

    def skip(kind: int) -> None:
        nonlocal at
        if kind == STRING:
            string()
        elif kind == ARRAY:
            inner = number("I")
            for _ in range(number("Q")):
                skip(inner)
        else:
            at += SIZES[kind]

    version, n_tensors, n_values = number("I"), number("Q"), number("Q")
    values = []
    for _ in range(n_values):
        key, kind = string(), number("I")
        start = at
        skip(kind)
        values.append((key, kind, data[start:at]))
    tensors = []
    for _ in range(n_tensors):
        name, dimensions = string(), number("I")
        shape = tuple(number("Q") for _ in range(dimensions))
        tensors.append(Entry(name, shape, number("I"), number("Q")))
    return Parts(tuple(values), tuple(tensors), data[at + -at % 32 :], version)
