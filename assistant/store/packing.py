"""Encodings of the columns for traces, statistics, token ids, calls and attachments."""

import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from math import isnan, nan

import msgspec

from assistant.events import Alternative, Ghost, Origin, Part, Stats, Token
from assistant.request import ToolCall
from assistant.store.values import Attachment
from assistant.tokens import Step, Trace
from models.errors import StorageError, well_formed

_LEVEL = 3  # of zlib: 6 takes 3.6 times as long and saves 6 % (a synthetic trace of 400 tokens)


def pack_trace(steps: Trace) -> bytes:
    """Encode a trace: about 160 bytes for a token with eight alternatives."""
    return zlib.compress(msgspec.msgpack.encode(steps), _LEVEL)


def unpack_trace(packed: bytes) -> Trace:
    """Decode a trace, also one of an earlier program; StorageError if it is damaged."""
    try:
        data = zlib.decompress(packed)
        with suppress(msgspec.ValidationError):
            return msgspec.msgpack.decode(data, type=Trace)
        return _earlier_trace(data)
    except (zlib.error, msgspec.MsgspecError, struct.error, ValueError, IndexError) as error:
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


# Traces as they were stored until November 2026, in columns. They are read, never written.
_ORIGINS = tuple(Origin)
_PARTS: tuple[Part, ...] = ("answer", "thought", "marker", "call")
_Packed = tuple[int, int, int, int | None, int, int, int]
_Figures = Sequence[float | None]  # under the target, under the draft, uniform, threshold


class _Columns(msgspec.Struct, array_like=True):
    """Texts and sources are places in `texts`; in columns of floats, NaN stands for None."""

    texts: list[str]
    steps: list[tuple[int, int]]  # how many tokens and ghosts
    tokens: list[_Packed]  # id, text, origin and part, source, position, alternatives of each row
    ghosts: list[tuple[int, int, int, int]]  # id, text, source, position
    alternatives: list[tuple[int, int]]  # id, text
    decided: bytes  # of tokens and then ghosts: target, draft, uniform; float64
    others: bytes  # the probabilities of the alternatives; float32
    thresholds: bytes = b""  # float64; empty if there is none


def _earlier_trace(data: bytes) -> Trace:
    """Return an earlier trace; if it is damaged, raise what `msgspec`, `struct` and lists raise."""
    columns = msgspec.msgpack.decode(data, type=_Columns)
    texts, probs = columns.texts, struct.iter_unpack("<f", columns.others)
    pairs = zip(columns.alternatives, probs, strict=True)
    tops = iter([Alternative(id_, texts[text], prob) for (id_, text), (prob,) in pairs])
    thresholds = columns.thresholds or struct.pack("<d", nan) * (len(columns.decided) // 24)
    rows = struct.iter_unpack("<3d", columns.decided), struct.iter_unpack("<d", thresholds)
    figures = [[None if isnan(x) else x for x in (*a, *b)] for a, b in zip(*rows, strict=True)]
    known = iter(figures)
    tokens = iter([_token(each, texts, next(known), tops) for each in columns.tokens])
    ghosts = iter([_ghost(each, texts, next(known)) for each in columns.ghosts])
    return tuple(Step(tuple(islice(tokens, n)), tuple(islice(ghosts, m))) for n, m in columns.steps)


def _token(
    packed: _Packed, texts: list[str], figures: _Figures, tops: Iterator[Alternative]
) -> Token:
    id_, text, kind, source, position, targets, drafts = packed
    target_prob, draft_prob, uniform, threshold = figures
    part, origin = divmod(kind, len(_ORIGINS))
    proposer = None if source is None else texts[source]
    decided = proposer, target_prob or 0.0, draft_prob, position, uniform
    rows = tuple(islice(tops, targets)), tuple(islice(tops, drafts))
    return Token(id_, texts[text], _ORIGINS[origin], *decided, *rows, threshold, _PARTS[part])


def _ghost(packed: tuple[int, int, int, int], texts: list[str], figures: _Figures) -> Ghost:
    id_, text, source, position = packed
    target_prob, draft_prob, *test = figures
    return Ghost(id_, texts[text], texts[source], position, draft_prob or 0.0, target_prob, *test)
