"""Encodings of the columns for traces, statistics, token ids, calls and attachments."""

import struct
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import msgspec

from assistant.events import Stats, Trace
from assistant.request import ToolCall
from assistant.store.values import Attachment
from models.errors import StorageError, well_formed

_LEVEL = 3  # of zlib: 6 takes 3.6 times as long and saves 6 % (a synthetic trace of 400 tokens)


def pack_trace(steps: Trace) -> bytes:
    """Encode a trace: about 160 bytes for a token with eight alternatives."""
    return zlib.compress(msgspec.msgpack.encode(steps), _LEVEL)


def unpack_trace(packed: bytes) -> Trace:
    """Decode a trace; StorageError if it is damaged."""
    try:
        return msgspec.msgpack.decode(zlib.decompress(packed), type=Trace)
    except (zlib.error, msgspec.MsgspecError, ValueError) as error:
        raise StorageError(
            "The stored tokens of this answer are damaged; its text is not."
        ) from error


def pack_ids(ids: Sequence[int]) -> bytes:
    """Encode token ids, 4 bytes each."""
    return struct.pack(f"<{len(ids)}i", *ids)


def unpack_ids(packed: bytes | None) -> tuple[int, ...]:
    """Decode token ids; damaged ones are dropped, and the text is tokenised again."""
    return struct.unpack(f"<{len(packed) // 4}i", packed) if packed and len(packed) % 4 == 0 else ()


def pack_stats(stats: Stats | None) -> bytes | None:
    """Encode the statistics of an answer."""
    return None if stats is None else msgspec.msgpack.encode(stats)


def unpack_stats(packed: bytes | None) -> Stats | None:
    """Decode statistics; None if they are damaged or of a later version."""
    with suppress(msgspec.MsgspecError):
        return None if packed is None else msgspec.msgpack.decode(packed, type=Stats)
    return None


def pack_calls(calls: Sequence[ToolCall]) -> str:
    """Encode tool calls as JSON; the text is empty if there are none."""
    if not calls:
        return ""
    texts = (map(well_formed, (call.name, call.arguments, call.id)) for call in calls)
    return msgspec.json.encode([ToolCall(*each) for each in texts]).decode()


def unpack_calls(packed: str) -> tuple[ToolCall, ...]:
    """Decode tool calls; damaged ones are dropped."""
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(packed, type=tuple[ToolCall, ...]) if packed else ()
    return ()


def pack_attachments(attachments: Sequence[Attachment]) -> bytes | None:
    """Encode attachments; None if there are none."""
    if not attachments:
        return None
    texts = [
        replace(each, name=well_formed(each.name), text=well_formed(each.text))
        for each in attachments
    ]
    return zlib.compress(msgspec.msgpack.encode(texts), _LEVEL)


def unpack_attachments(packed: bytes | None) -> tuple[Attachment, ...]:
    """Decode attachments; a damaged column becomes one attachment that says so."""
    if packed is None:
        return ()
    try:
        return msgspec.msgpack.decode(zlib.decompress(packed), type=tuple[Attachment, ...])
    except (zlib.error, msgspec.MsgspecError):
        return (Attachment("damaged", "The files stored with this message are damaged."),)
