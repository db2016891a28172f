"""Values as msgpack: paths, other libraries' numbers and broken text included."""

import os
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import msgspec


def encode(value: Any) -> bytes:
    """Return msgpack of builtins and dataclasses; text that is not UTF-8 gets question marks.

    Raises:
        TypeError: a part of it is no plain value.
        OverflowError: a number in it has more than 64 bits.
    """
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:  # half a character, as a command line or a file name may hold
        builtins = msgspec.to_builtins(value, builtin_types=(bytes,), enc_hook=_encode_hook)
        return _encoder.encode(_mended(builtins))


def decode_hook(kind: type[Any], value: Any) -> Any:
    """Return a path where msgspec wants one."""
    if kind is Path and isinstance(value, bytes):
        return Path(os.fsdecode(value))
    raise ValueError(f"not a {kind.__name__}: {value!r}")


def _encode_hook(value: Any) -> Any:
    match value:
        case Path():
            return os.fsencode(value)
        case Integral():
            return int(value)
        case Real():
            return float(value)
    raise TypeError(f"not a plain value: {value!r}")


def _mended(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {_mended(key): _mended(item) for key, item in value.items()}
        case list() | tuple():
            return [_mended(item) for item in value]
    return value


_encoder = msgspec.msgpack.Encoder(enc_hook=_encode_hook)
