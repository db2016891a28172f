"""What a schema says of a text, as regular expressions; and what it says that none of them holds.

Formats of calls that write texts as they are need this: only in JSON is a text llguidance's affair.
"""

import re
from collections.abc import Callable, Collection
from typing import NamedTuple

from assistant.calling.arguments import Schema

ASSERTING = frozenset({
    "type", "enum", "const", "allOf", "anyOf", "oneOf", "not", "if", "$ref", "$dynamicRef",
    "minLength", "maxLength", "pattern", "format",
    "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "items", "prefixItems", "additionalItems", "unevaluatedItems", "minItems", "maxItems",
    "uniqueItems", "contains", "minContains", "maxContains",
    "properties", "required", "additionalProperties", "patternProperties", "propertyNames",
    "unevaluatedProperties", "minProperties", "maxProperties",
    "dependencies", "dependentRequired", "dependentSchemas",
})  # fmt: skip
"""The keywords of JSON Schema by which a value can be wrong."""
OBJECT = frozenset({"type", "properties", "required", "additionalProperties"})
TEXTS = frozenset({"minLength", "maxLength", "pattern", "format"})
"""Those that only texts can break."""
_PIECE = re.compile(r"\\.|\[\^?(?:\\.|[^\]])*\]|.", re.DOTALL)
_LEAP = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE = (
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    f"|{_LEAP}-02-29)"
)
_HOUR = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_TIME = rf"{_HOUR}:[0-5][0-9](?:\.[0-9]+)?(?:Z|[+-]{_HOUR})"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_WORD = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_NAME = "(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})"
_SEGMENT = f"(?:{_NAME}|[:@])"
_FORMATS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}T{_TIME}",
    "email": rf"{_WORD}(?:\.{_WORD})*@{_HOST}",
    "hostname": _HOST,
    "ipv4": rf"(?:{_BYTE}\.){{3}}{_BYTE}",
    "uuid": "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "uri": "[A-Za-z][A-Za-z0-9+.-]*:"
    f"(?://{_NAME}*(?::[0-9]+)?(?:/{_SEGMENT}*)*|/?(?:{_SEGMENT}+(?:/{_SEGMENT}*)*)?)"
    rf"(?:\?(?:{_SEGMENT}|[/?])*)?(?:#(?:{_SEGMENT}|[/?])*)?",
}
"""What these formats look like."""


class TextRule(NamedTuple):
    """What a text has to be."""

    patterns: tuple[str, ...]  # each of which fits all of it
    beyond: tuple[str, ...]  # keywords that say more


def text_rule(schema: Schema, understood: Callable[[str], str | None]) -> TextRule:
    """Return what the keywords of `TEXTS` say of a text.

    `understood` returns a regular expression of JSON Schema's as grammars write it, or None where
    they cannot.
    """
    found: dict[str, str | None] = {}
    for keyword, read in _READERS.items():
        if keyword in schema:
            pattern = read(schema[keyword])
            found[keyword] = understood(pattern) if pattern else None
    patterns = tuple(pattern for pattern in found.values() if pattern)
    return TextRule(patterns, tuple(keyword for keyword, pattern in found.items() if not pattern))


def further(schema: Schema, held: Collection[str]) -> frozenset[str]:
    """Return the keywords by which a value can be wrong, apart from those that are held."""
    return ASSERTING & schema.keys() - {*held}


def _least(count: object) -> str | None:
    return f"(?s:.{{{count},}})" if _is_count(count) else None


def _most(count: object) -> str | None:
    return f"(?s:.{{0,{count}}})" if _is_count(count) else None


def _is_count(count: object) -> bool:
    return isinstance(count, int) and not isinstance(count, bool) and count >= 0


def _format(name: object) -> str | None:
    return _FORMATS.get(name) if isinstance(name, str) else None


def _searched(pattern: object) -> str | None:
    """Return what fits all of a text in which a pattern can be found."""
    if not isinstance(pattern, str):
        return None
    ways, depth = [list[str]()], 0
    for piece in _PIECE.findall(pattern):
        depth += (piece == "(") - (piece == ")")
        if piece == "|" and not depth:
            ways.append([])
        else:
            ways[-1].append(piece)
    return "|".join(map(_anywhere, ways))


def _anywhere(pieces: list[str]) -> str:
    begins, ends = pieces[:1] == ["^"], pieces[-1:] == ["$"]
    inner = "".join(pieces[begins : len(pieces) - ends])
    return f"{'' if begins else '(?s:.*)'}(?:{inner}){'' if ends else '(?s:.*)'}"


_READERS: dict[str, Callable[[object], str | None]] = {
    "minLength": _least,
    "maxLength": _most,
    "pattern": _searched,
    "format": _format,
}
