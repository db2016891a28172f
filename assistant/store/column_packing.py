"""Token ids, figures and attachments as bytes."""

import struct
import zlib
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from assistant.events import Stats
from assistant.store.values import Attachment


def pack_ids(ids: Sequence[int]) -> bytes:
    """Return token ids as bytes."""
    return struct.pack(f"<{len(ids)}i", *ids)


def unpack_ids(packed: bytes | None) -> tuple[int, ...]:
    """Return the token ids that were packed; damaged ones only cost a second reading."""
    return struct.unpack(f"<{len(packed) // 4}i", packed) if packed and len(packed) % 4 == 0 else ()


def pack_stats(stats: Stats | None) -> bytes | None:
    """Return figures as bytes."""
    return None if stats is None else msgspec.msgpack.encode(stats)


def unpack_stats(packed: bytes | None) -> Stats | None:
    """Return the figures that were packed, as far as this version knows them."""
    with suppress(msgspec.MsgspecError):  # of a later version, or damaged
        return None if packed is None else msgspec.msgpack.decode(packed, type=Stats)
    return None


def pack_attachments(attachments: Sequence[Attachment]) -> bytes | None:
    """Return attached texts as bytes."""
    if not attachments:
        return None
    return zlib.compress(msgspec.msgpack.encode(tuple(attachments)), 3)


def unpack_attachments(packed: bytes | None) -> tuple[Attachment, ...]:
    """Return the attached texts that were packed."""
    if packed is None:
        return ()
    try:
        return msgspec.msgpack.decode(zlib.decompress(packed), type=tuple[Attachment, ...])
    except (zlib.error, msgspec.MsgspecError):
        return (Attachment("damaged", "What was attached here was stored, but is damaged."),)
