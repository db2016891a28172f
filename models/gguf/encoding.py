"""Values as the bytes that stand for them in a GGUF file, their type in front."""

import struct
from collections.abc import Sequence

from models.gguf.values import ARRAY, STRING

_UINT32, _FLOAT32 = 4, 6


def string(text: bytes) -> bytes:
    """Return a text and its length, as names and elements of arrays are written."""
    return struct.pack("<Q", len(text)) + text


def text(value: str) -> bytes:
    """Return a text."""
    return struct.pack("<I", STRING) + string(value.encode())


def number(value: int) -> bytes:
    """Return an unsigned 32-bit integer."""
    return struct.pack("<II", _UINT32, value)


def real(value: float) -> bytes:
    """Return a 32-bit float."""
    return struct.pack("<If", _FLOAT32, value)


def texts(values: Sequence[bytes]) -> bytes:
    """Return an array of texts."""
    return struct.pack("<IIQ", ARRAY, STRING, len(values)) + b"".join(map(string, values))
