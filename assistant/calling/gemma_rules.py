"""What the arguments of Gemma 4's calls may look like."""

import json
import re
from collections.abc import Collection, Iterable

from assistant.calling.arguments import Schema, properties, required
from assistant.calling.formats import QUOTE
from assistant.calling.lark import ALL, LarkRules, pattern_of
from assistant.calling.texts import OBJECT, TEXTS, further

_KEY = r'[^\s:{}\[\],<>"]+'
_BEYOND = {"$ref", "allOf", "not", "if", "patternProperties", "prefixItems"}
_BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
_HELD: dict[object, Collection[str]] = {
    "string": TEXTS,
    "number": _BOUNDS,
    "integer": _BOUNDS,
    "array": {"items", "minItems"},
    "object": OBJECT,
}
_TYPES: dict[object, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


class GemmaRules:
    """Write the rules of arguments; what they do not know of a schema allows any value."""

    def __init__(self, rules: LarkRules) -> None:
        self._rules = rules
        rules.lines.append(f"UNQUOTED: {ALL} & ~/(?s:.*{pattern_of(QUOTE)}.*)/")
        rules.lines += [
            f"string: {self._string('STRING')}",
            'any_value: string | any_scalar | "{" any_members "}" | any_list',
            f"any_scalar: {rules.json({'type': ['number', 'boolean', 'null']})}",
            'any_list: "[" (any_value ("," any_value)*)? "]"',
            'any_members: (any_member ("," any_member)*)?',
            'any_member: (ANY_KEY | string) ":" any_value',
            f"ANY_KEY: /{_KEY}/",
        ]

    def arguments(self, schema: Schema) -> str:
        """Return what stands between the braces of the arguments."""
        self._rules.leave("", further(schema, OBJECT))
        return self._members(schema, "")

    def _members(self, schema: Schema, place: str) -> str:
        """Return what stands between the braces of a parameter, in the order of the keys."""
        rules, known, needs = self._rules, properties(schema), required(schema)
        is_open = schema.get("additionalProperties", "properties" not in schema)
        beyond = (_BEYOND | {"anyOf", "oneOf"}) & {*schema} or needs - {*known}
        if is_open is not False or beyond or json.dumps(QUOTE)[1:-1] in json.dumps(schema):
            said = {
                "properties": known,
                "required": needs,
                "additionalProperties": schema.get("additionalProperties", True) is not True,
            }
            rules.leave(place, [keyword for keyword, lost in said.items() if lost])
            return "any_members"
        first = rest = '""'
        for name in sorted(known, key=str.lower, reverse=True):
            inner = self._value(known[name], f"{place}.{name}".lstrip("."))
            member = rules.add("member", f"{rules.text(_key(name))} {inner}")
            needed = name in needs
            first = rules.add("first", f"{member} {rest}{'' if needed else f' | {first}'}")
            rest = rules.add("rest", f'("," {member}){"" if needed else "?"} {rest}')
        return first

    def _value(self, schema: object, place: str) -> str:
        """Return what the value of a parameter looks like."""
        rules = self._rules
        if not isinstance(schema, dict):
            return "any_value"
        if _BEYOND & {*schema}:
            rules.leave(place, further(schema, ()))
            return "any_value"
        kinds = schema.get("type")
        each = kinds if isinstance(kinds, list) and kinds else [kinds]
        listed = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(listed, list) and listed:
            rules.leave(place, further(schema, {"const", "enum", "type"}))
            fitting = [value for value in listed if any(_is_of(value, kind) for kind in each)]
            return _one_of(rules.text(_written(value)) for value in fitting or listed)
        ways = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(ways, list) and ways:
            rules.leave(place, further(schema, {"anyOf"}))
            return _one_of(self._value(way, place) for way in ways)
        rules.leave(place, further(schema, {"type"}.union(*(_HELD.get(kind, ()) for kind in each))))
        return _one_of(self._of(kind, schema, place) for kind in each)

    def _of(self, kind: object, schema: Schema, place: str) -> str:
        """Return what values of one type look like."""
        rules = self._rules
        if kind == "string":
            patterns = rules.patterns(place, schema)
            name = f"STRING_{len(rules.lines)}"
            return f"({self._string(name, patterns)})" if patterns else "string"
        if kind == "object":
            return f'"{{" {self._members(schema, place)} "}}"'
        if kind == "array":
            item, least = self._value(schema.get("items"), f"{place}[]"), schema.get("minItems")
            rules.leave(place, set() if least in (None, 0, 1) else {"minItems"})
            return f'"[" ({item} ("," {item})*){"" if least else "?"} "]"'
        if kind in ("number", "integer", "boolean", "null"):
            bounds = {key: schema[key] for key in _BOUNDS & {*schema}}
            return rules.add("scalar", rules.json({"type": kind, **bounds}))
        return "any_value"

    def _string(self, name: str, patterns: Iterable[str] = ()) -> str:
        rest = self._rules.up_to(name, QUOTE, "UNQUOTED", patterns)
        return f"{self._rules.text(QUOTE)} {rest}"


def _is_of(value: object, kind: object) -> bool:
    if isinstance(value, bool):
        return kind in (None, "boolean")
    return kind not in _TYPES or isinstance(value, _TYPES[kind])


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
