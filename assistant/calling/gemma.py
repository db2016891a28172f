"""The arguments of Gemma 4's calls: what they may look like, and what they are in JSON."""

import json
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from assistant.calling.arguments import Schema, properties
from assistant.calling.formats import QUOTE

_BEYOND = {"$ref", "allOf", "not", "if", "patternProperties", "prefixItems"}
_BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
_MARKS_IN_JSON = {QUOTE: '"', ",": ", ", ":": ": "}
_KEY = r'[^\s:{}\[\],<>"]+'


class GemmaArguments:
    """An object after its brace: keys are bare, and strings stand between two `QUOTE`."""

    _MARK = r"[{}\[\],:]"
    _PART = re.compile(rf"\s*(?:({re.escape(QUOTE)}|{_MARK})|(.+?)(?={_MARK}))", re.DOTALL)

    def __init__(self) -> None:
        self._rest, self._begins = "", "{"
        self._depth, self._quoted = 1, False

    def read(self, text: str) -> tuple[str, str | None]:
        """Read on; see `Arguments`."""
        self._rest += text
        added, self._begins = self._begins, ""
        while self._depth:
            if self._quoted:
                more = self._text()
            elif part := self._PART.match(self._rest):
                self._rest = self._rest[part.end() :]
                more = self._mark(part[1]) if part[1] else self._word(part[2].strip())
            else:
                more = ""
            if not more:
                return added, None
            added += more
        return added, self._rest

    def _text(self) -> str:
        """Return what is known by now of a string, and its end."""
        said, end, rest = self._rest.partition(QUOTE)
        if not end:  # which may have begun
            lengths = range(1, len(QUOTE))
            held = max((n for n in lengths if said.endswith(QUOTE[:n])), default=0)
            said, rest = said[: len(said) - held], said[len(said) - held :]
        self._rest, self._quoted = rest, not end
        return json.dumps(said, ensure_ascii=False)[1:-1] + ('"' if end else "")

    def _mark(self, mark: str) -> str:
        self._quoted = mark == QUOTE
        self._depth += (mark in "{[") - (mark in "}]")
        return _MARKS_IN_JSON.get(mark, mark)

    def _word(self, word: str) -> str:
        return json.dumps(word, ensure_ascii=False) if self._rest[0] == ":" else word


class GemmaRules(NamedTuple):
    """Write the rules of arguments; what they do not know of a schema allows any value."""

    rule: Callable[[str, str], str]  # adds one of such a name, and returns its whole name
    text: Callable[[str], str]  # spells a text
    json: Callable[[Schema], str]

    def members(self, schema: Schema) -> str:
        """Return what stands between the braces of an object, in the order of the keys."""
        known, required = properties(schema), schema.get("required", [])
        needs = {*required} if isinstance(required, list) else set()
        is_open = schema.get("additionalProperties", "properties" not in schema)
        beyond = (_BEYOND | {"anyOf", "oneOf"}) & {*schema} or needs - {*known}
        if is_open is not False or beyond or json.dumps(QUOTE)[1:-1] in json.dumps(schema):
            return "any_members"
        first = rest = '""'
        for name in sorted(known, key=str.lower, reverse=True):
            member = self.rule("member", f"{self.text(_key(name))} {self.value(known[name])}")
            needed = name in needs
            first = self.rule("first", f"{member} {rest}{'' if needed else f' | {first}'}")
            rest = self.rule("rest", f'("," {member}){"" if needed else "?"} {rest}')
        return first

    def value(self, schema: object) -> str:
        """Return what a value looks like."""
        if not isinstance(schema, dict) or _BEYOND & {*schema}:
            return "any_value"
        listed = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(listed, list) and listed:
            return _one_of(self.text(_written(value)) for value in listed)
        ways = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(ways, list) and ways:
            return _one_of(map(self.value, ways))
        kinds = schema.get("type")
        each = kinds if isinstance(kinds, list) and kinds else [kinds]
        return _one_of(self._of(kind, schema) for kind in each)

    def any(self) -> list[str]:
        """Return the rules of any value, without that of strings."""
        return [
            'any_value: string | any_scalar | "{" any_members "}" | any_list',
            f"any_scalar: {self.json({'type': ['number', 'boolean', 'null']})}",
            'any_list: "[" (any_value ("," any_value)*)? "]"',
            'any_members: (any_member ("," any_member)*)?',
            'any_member: (ANY_KEY | string) ":" any_value',
            f"ANY_KEY: /{_KEY}/",
        ]

    def _of(self, kind: object, schema: Schema) -> str:
        if kind == "string":
            return "string"
        if kind == "object":
            return f'"{{" {self.members(schema)} "}}"'
        if kind == "array":
            item, some = self.value(schema.get("items")), "" if schema.get("minItems") else "?"
            return f'"[" ({item} ("," {item})*){some} "]"'
        if kind in ("number", "integer", "boolean", "null"):
            bounds = {key: schema[key] for key in _BOUNDS & {*schema}}
            return self.rule("scalar", self.json({"type": kind, **bounds}))
        return "any_value"


def _written(value: object) -> str:
    """Return a value as Gemma writes it."""
    if isinstance(value, str):
        return f"{QUOTE}{value}{QUOTE}"
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, dict):
        keys = sorted(value, key=str.lower)
        return f"{{{','.join(_key(key) + _written(value[key]) for key in keys)}}}"
    return json.dumps(value)


def _key(name: str) -> str:
    """Return a key, which has quotes only where it could not be read without."""
    return f"{name}:" if re.fullmatch(_KEY, name) else f"{QUOTE}{name}{QUOTE}:"


def _one_of(ways: Iterable[str]) -> str:
    return f"({' | '.join(ways)})"
