"""Traces as they were stored until November 2026, in columns. They are read, never written."""

import struct
from collections.abc import Iterator, Sequence
from itertools import islice
from math import isnan, nan

import msgspec

from assistant.events import Alternative, Ghost, Origin, Part, Token
from assistant.tokens import Step, Trace

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


def read(data: bytes) -> Trace:
    """Return a trace; if it is damaged, raise what `msgspec`, `struct` and lists raise."""
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
