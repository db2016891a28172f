"""Encodes envelopes to bytes on a pipe and back: msgpack, with the name of the content's class.

Each message is preceded by its length in four bytes. A codec is made from a union of classes and
their annotations, so new events and jobs need no change here. Paths, numbers of other libraries
and invalid text are supported.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, get_args

import msgspec

from assistant.events import Event
from assistant.request import Cancel, Job, NextStep, UpdateRequest
from models.errors import UsageError, well_formed

if TYPE_CHECKING:  # the worker has no event loop
    from asyncio import StreamReader

MAX_FRAME_BYTES = 64 * 2**20
"""Bytes of the longest message: far more than any prompt."""
_HEAD = struct.Struct("<I")


class Garbled(Exception):
    """Bytes that are not a valid message."""


class TooLong(ValueError):
    """A message that does not fit a frame."""


class Envelope(NamedTuple):
    """A job, an order about it, or one of its events."""

    job: int  # its number
    content: Any = None  # None: a sign of life, or a request for one
    last: bool = False  # whether the job has ended with this event


def frame(message: bytes) -> bytes:
    """Return a message with its length before it; TooLong beyond `MAX_FRAME_BYTES`."""
    if len(message) > MAX_FRAME_BYTES:
        raise TooLong(f"{len(message):,} bytes; the limit is {MAX_FRAME_BYTES:,}")
    return _HEAD.pack(len(message)) + message


def read(pipe: BinaryIO) -> bytes | None:
    """Wait for the next message of a pipe: None at its end, Garbled if that is too long."""
    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    length = _length(head)
    message = pipe.read(length)
    return message if len(message) == length else None


async def receive(pipe: StreamReader) -> bytes:
    """Wait for the next message of a pipe in an event loop: EOFError at its end, else as `read`."""
    return await pipe.readexactly(_length(await pipe.readexactly(_HEAD.size)))


def _length(head: bytes) -> int:
    """Return the length of a message, before memory is allocated for it."""
    (length,) = _HEAD.unpack(head)
    if length > MAX_FRAME_BYTES:
        raise Garbled(f"a message of {length:,} bytes")
    return int(length)


class Codec:
    """Encode and decode envelopes whose content is of a union of dataclasses or structs."""

    def __init__(self, union: Any) -> None:
        self._members: dict[str, msgspec.msgpack.Decoder[Any]] = {
            kind.__name__: msgspec.msgpack.Decoder(kind, dec_hook=_from_plain)
            for kind in get_args(union)
        }
        self._envelope = msgspec.msgpack.Decoder(tuple[int, str, msgspec.Raw, bool])

    def encode(self, envelope: Envelope) -> bytes:
        """Return the bytes of an envelope; text that is not UTF-8 gets U+FFFD.

        TypeError if its content is not one of the union's, or a part of it is no plain value;
        OverflowError if a number in it has more than 64 bits.
        """
        job, content, last = envelope
        kind = "" if content is None else type(content).__name__
        if kind and kind not in self._members:
            raise TypeError(f"not one of {', '.join(self._members)}: {kind}")
        named = job, kind, content, last
        try:
            return _encoder.encode(named)
        except UnicodeEncodeError:  # half a character, as a command line or a file name may hold
            builtins = msgspec.to_builtins(named, builtin_types=(bytes,), enc_hook=_to_plain)
            return _encoder.encode(_readable(builtins))

    def decode(self, data: bytes) -> Envelope:
        """Return the envelope that `encode` was given; Garbled if any part is of another type."""
        try:
            job, kind, payload, last = self._envelope.decode(data)
            return Envelope(job, self._members[kind].decode(payload) if kind else None, last)
        # KeyError: no such class; ValueError: msgspec's errors, and text that is not UTF-8;
        # UsageError: a value that its class does not allow
        except (KeyError, ValueError, RecursionError, UsageError) as error:
            raise Garbled(f"{type(error).__name__}: {error}") from error


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
            return well_formed(value)
        case dict():
            return {_readable(key): _readable(item) for key, item in value.items()}
        case list() | tuple():
            return [_readable(item) for item in value]
    return value


_encoder = msgspec.msgpack.Encoder(enc_hook=_to_plain)


@dataclass(frozen=True)
class Protocol:
    """The module of a worker, and the jobs and events that it and its clients share."""

    worker: str  # the module that runs it
    jobs: Any  # a union of classes of jobs
    events: Any  # a union of classes of events

    @cached_property
    def commands(self) -> Codec:
        """The codec of messages to the worker."""
        return Codec(self.jobs | UpdateRequest | NextStep | Cancel)

    @cached_property
    def messages(self) -> Codec:
        """The codec of messages from the worker."""
        return Codec(self.events)


CHAT = Protocol("assistant.process.worker", Job, Event)
