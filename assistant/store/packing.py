"""What goes into the database as bytes: traces, figures, token ids and attached texts.

Of a trace, numbers lie in columns and each text once, compressed. The probabilities that decided
are kept exactly; those of the alternatives to seven digits.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from math import isnan, nan

import msgspec

from assistant.events import Alternative, Ghost, Origin, Part, Stats, Token
from assistant.request import ToolCall
from assistant.store.database import storable
from assistant.store.values import Attachment
from assistant.tokens import Step, Trace
from models.errors import StorageError

_ORIGINS = tuple(Origin)
_PARTS: tuple[Part, ...] = ("answer", "thought", "marker", "call")
"""Stored with the origin, in one number: that of the origin alone where all is answer."""
_LEVEL = 3  # of compression: higher ones save little here


class _Columns(msgspec.Struct, array_like=True):
    """A trace. Texts and sources are places in `texts`; each float column is packed."""

    texts: list[str]
    steps: list[tuple[int, int]]  # how many tokens and ghosts
    tokens: list[tuple[int, int, int, int | None, int, int, int]]
    ghosts: list[tuple[int, int, int, int]]
    alternatives: list[tuple[int, int]]
    decided: bytes  # of tokens and then ghosts: target, draft, uniform; float64, None is NaN
    others: bytes  # of the alternatives; float32
    thresholds: bytes = b""  # packed as `decided`; empty if none has one, absent in older traces


class _Texts(dict[str, int]):
    def __missing__(self, text: str) -> int:
        self[text] = place = len(self)
        return place


def pack_trace(steps: Trace) -> bytes:
    """Return a trace as bytes."""
    texts = _Texts()
    tokens = [token for step in steps for token in step.tokens]
    ghosts = [ghost for step in steps for ghost in step.ghosts]
    tops = [each for token in tokens for each in (*token.target_top, *token.draft_top)]
    tested: list[Token | Ghost] = [*tokens, *ghosts]
    decided = [
        nan if value is None else value
        for each in tested
        for value in (each.target_prob, each.draft_prob, each.uniform)
    ]
    columns = _Columns(
        [],
        [(len(step.tokens), len(step.ghosts)) for step in steps],
        [_token(token, texts) for token in tokens],
        [(each.id, texts[each.text], texts[each.source], each.position) for each in ghosts],
        [(each.id, texts[each.text]) for each in tops],
        struct.pack(f"<{len(decided)}d", *decided),
        struct.pack(f"<{len(tops)}f", *(each.prob for each in tops)),
        _thresholds(tested),
    )
    columns.texts = list(texts)
    return zlib.compress(msgspec.msgpack.encode(columns), _LEVEL)


def _token(token: Token, texts: _Texts) -> tuple[int, int, int, int | None, int, int, int]:
    return (
        token.id,
        texts[token.text],
        _ORIGINS.index(token.origin) + len(_ORIGINS) * _PARTS.index(token.part),
        None if token.source is None else texts[token.source],
        token.position,
        len(token.target_top),
        len(token.draft_top),
    )


def _thresholds(tested: Sequence[Token | Ghost]) -> bytes:
    known = [each.threshold for each in tested]
    if all(threshold is None for threshold in known):
        return b""
    return struct.pack(f"<{len(known)}d", *(nan if each is None else each for each in known))


def unpack_trace(packed: bytes) -> Trace:
    """Return the trace that was packed; StorageError when it is damaged."""
    try:
        columns = msgspec.msgpack.decode(zlib.decompress(packed), type=_Columns)
        decided = _decided(columns)
        # Lists, because the columns of the ghosts begin where those of the tokens end.
        tokens, ghosts = iter([*_tokens(columns, decided)]), iter([*_ghosts(columns, decided)])
        return tuple(
            Step(tuple(islice(tokens, n)), tuple(islice(ghosts, m))) for n, m in columns.steps
        )
    except (zlib.error, msgspec.MsgspecError, struct.error, ValueError, IndexError) as error:
        raise StorageError(
            "The stored tokens of this answer are damaged; its text is not."
        ) from error


def _decided(columns: _Columns) -> Iterator[tuple[float, ...]]:
    packed = columns.thresholds or struct.pack("<d", nan) * (len(columns.decided) // 24)
    pairs = zip(
        struct.iter_unpack("<3d", columns.decided), struct.iter_unpack("<d", packed), strict=True
    )
    return (decided + threshold for decided, threshold in pairs)


def _tokens(columns: _Columns, decided: Iterator[tuple[float, ...]]) -> Iterator[Token]:
    texts, tops = columns.texts, _alternatives(columns)
    for id_, text, origin, source, position, targets, drafts in columns.tokens:
        target_prob, draft_prob, uniform, threshold = next(decided)
        part, origin = divmod(origin, len(_ORIGINS))
        yield Token(
            id_,
            texts[text],
            _ORIGINS[origin],
            None if source is None else texts[source],
            target_prob,
            _known(draft_prob),
            position,
            _known(uniform),
            tuple(islice(tops, targets)),
            tuple(islice(tops, drafts)),
            _known(threshold),
            _PARTS[part],
        )


def _alternatives(columns: _Columns) -> Iterator[Alternative]:
    probs = struct.iter_unpack("<f", columns.others)
    for (id_, text), (prob,) in zip(columns.alternatives, probs, strict=True):
        yield Alternative(id_, columns.texts[text], prob)


def _ghosts(columns: _Columns, decided: Iterator[tuple[float, ...]]) -> Iterator[Ghost]:
    for id_, text, source, position in columns.ghosts:
        target_prob, draft_prob, *test = next(decided)
        texts = columns.texts[text], columns.texts[source]
        yield Ghost(id_, *texts, position, draft_prob, _known(target_prob), *map(_known, test))


def _known(value: float) -> float | None:
    return None if isnan(value) else value


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


def pack_calls(calls: Sequence[ToolCall]) -> str:
    """Return calls as JSON; an empty text where there is none."""
    if not calls:
        return ""
    texts = (map(storable, (call.name, call.arguments, call.id)) for call in calls)
    return msgspec.json.encode([ToolCall(*each) for each in texts]).decode()


def unpack_calls(packed: str) -> tuple[ToolCall, ...]:
    """Return the calls that were packed; damaged ones are no calls."""
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(packed, type=tuple[ToolCall, ...]) if packed else ()
    return ()


def pack_attachments(attachments: Sequence[Attachment]) -> bytes | None:
    """Return attached texts as bytes."""
    if not attachments:
        return None
    return zlib.compress(msgspec.msgpack.encode(tuple(attachments)), _LEVEL)


def unpack_attachments(packed: bytes | None) -> tuple[Attachment, ...]:
    """Return the attached texts that were packed."""
    if packed is None:
        return ()
    try:
        return msgspec.msgpack.decode(zlib.decompress(packed), type=tuple[Attachment, ...])
    except (zlib.error, msgspec.MsgspecError):
        return (Attachment("damaged", "The files stored with this message are damaged."),)
