"""Frozen values as bytes on a pipe and back: msgpack, tagged with the name of the value's class.

The length of each message goes before it, in four bytes. A codec is made from a union of classes
and follows their annotations: a new event or job needs no line here. Paths, other libraries'
numbers and broken text are values, too.
"""

import os
import struct
from collections.abc import Iterator
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

import msgspec

from models.errors import UsageError

Value = TypeVar("Value")
MAX_FRAME_BYTES = 64 * 2**20
"""Bytes of the longest message: far more than any text that a model can read."""
_HEAD = struct.Struct("<I")


class Garbled(Exception):
    """Bytes that are not a message of ours."""


class TooLong(ValueError):
    """A message that does not fit a frame."""


def framed(message: bytes) -> bytes:
    """Return a message with its length before it.

    Raises:
        TooLong: it is longer than `MAX_FRAME_BYTES`.
    """
    if len(message) > MAX_FRAME_BYTES:
        raise TooLong(f"{len(message):,} bytes; {MAX_FRAME_BYTES:,} are the most")
    return _HEAD.pack(len(message)) + message


class Frames:
    """Cut what comes out of a pipe, in whatever pieces, into messages."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take a piece; yield the messages that are whole now.

        Raises:
            Garbled: a length is beyond `MAX_FRAME_BYTES`, before memory is set aside for it.
        """
        self._received += data
        while len(self._received) >= _HEAD.size:
            (length,) = _HEAD.unpack_from(self._received)
            if length > MAX_FRAME_BYTES:
                raise Garbled(f"a message of {length:,} bytes")
            end = _HEAD.size + length
            if len(self._received) < end:
                return
            message = bytes(self._received[_HEAD.size : end])
            del self._received[:end]
            yield message


class Codec(Generic[Value]):
    """Encode and decode the members of a union of dataclasses or structs."""

    def __init__(self, union: Any) -> None:
        self._members: dict[str, msgspec.msgpack.Decoder[Any]] = {
            kind.__name__: msgspec.msgpack.Decoder(kind, dec_hook=_from_plain)
            for kind in get_args(union)
        }
        self._tagged = msgspec.msgpack.Decoder(tuple[str, msgspec.Raw])

    def encode(self, value: Value) -> bytes:
        """Return the bytes of a value; text that is not UTF-8 gets question marks.

        Raises:
            TypeError: it is not one of the union's, or a part of it is no plain value.
            OverflowError: a number in it has more than 64 bits.
        """
        tagged = type(value).__name__, value
        if tagged[0] not in self._members:
            raise TypeError(f"not one of {', '.join(self._members)}: {tagged[0]}")
        try:
            return _encoder.encode(tagged)
        except UnicodeEncodeError:  # half a character, as a command line or a file name may hold
            builtins = msgspec.to_builtins(tagged, builtin_types=(bytes,), enc_hook=_to_plain)
            return _encoder.encode(_readable(builtins))

    def decode(self, data: bytes) -> Value:
        """Return the value that `encode` was given.

        Raises:
            Garbled: it is not one of the union's, to the type of every part.
        """
        try:
            name, payload = self._tagged.decode(data)
            value: Value = self._members[name].decode(payload)
        # KeyError: no such class; ValueError: msgspec's errors, and text that is not UTF-8;
        # UsageError: a value that its class does not allow
        except (KeyError, ValueError, RecursionError, UsageError) as error:
            raise Garbled(f"{type(error).__name__}: {error}") from error
        return value


def _to_plain(value: Any) -> Any:
    match value:
        case Path():
            return os.fsencode(value)
        case Integral():
            return int(value)
        case Real():
            return float(value)
    raise TypeError(f"not a plain value: {value!r}")


def _from_plain(kind: type[Any], value: Any) -> Any:
    if kind is Path and isinstance(value, bytes):
        return Path(os.fsdecode(value))
    raise ValueError(f"not a {kind.__name__}: {value!r}")


def _readable(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {_readable(key): _readable(item) for key, item in value.items()}
        case list() | tuple():
            return [_readable(item) for item in value]
    return value


_encoder = msgspec.msgpack.Encoder(enc_hook=_to_plain)
