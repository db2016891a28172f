"""Messages on a pipe: the length of each in four bytes, then the message."""

import struct
from collections.abc import Iterator

from assistant.process.wire import Garbled

MOST = 64 * 2**20
"""Bytes of the longest message: far more than any text that a model can read."""
_HEAD = struct.Struct("<I")


class TooLong(ValueError):
    """A message that does not fit a frame."""


def framed(message: bytes) -> bytes:
    """Return a message with its length before it.

    Raises:
        TooLong: it is longer than `MOST`.
    """
    if len(message) > MOST:
        raise TooLong(f"{len(message):,} bytes; {MOST:,} are the most")
    return _HEAD.pack(len(message)) + message


class Frames:
    """Cut what comes out of a pipe, in whatever pieces, into messages."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take a piece; yield the messages that are whole now.

        Raises:
            Garbled: a length is beyond `MOST`, before memory is set aside for it.
        """
        self._received += data
        while len(self._received) >= _HEAD.size:
            (length,) = _HEAD.unpack_from(self._received)
            if length > MOST:
                raise Garbled(f"a message of {length:,} bytes")
            end = _HEAD.size + length
            if len(self._received) < end:
                return
            message = bytes(self._received[_HEAD.size : end])
            del self._received[:end]
            yield message
