"""Arguments in the syntaxes of Gemma 4 and Qwen3-Coder: their parsers, and rules of grammars."""

import json
import re
from collections.abc import Iterable

import msgspec

from assistant.calling.arguments import OBJECT, Schema, is_closed, properties, required, texts_of
from assistant.calling.formats import QUOTE
from assistant.calling.lark import ALL, LarkRules, literal, pattern_of
from assistant.streamed_text import split_at_mark

_MARKS_IN_JSON = {QUOTE: '"', ",": ", ", ":": ": "}


class GemmaArguments:
    """Arguments after their first brace: keys are bare, and strings are between two `QUOTE`."""

    _MARK = r"[{}\[\],:]"
    _PART = re.compile(rf"\s*(?:({re.escape(QUOTE)}|{_MARK})|(.+?)(?={_MARK}))", re.DOTALL)

    def __init__(self) -> None:
        self._rest, self._begins = "", "{"
        self._depth, self._quoted = 1, False

    def read(self, text: str) -> tuple[str, str | None]:
        """Read more text; see `JsonArguments`."""
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
        """Return the part of a string that is certain, with its closing quote if it is there."""
        text, end, self._rest = split_at_mark(self._rest, [QUOTE])
        self._quoted = not end
        return json.dumps(text, ensure_ascii=False)[1:-1] + ('"' if end else "")

    def _mark(self, mark: str) -> str:
        self._quoted = mark == QUOTE
        if mark in "{[":
            self._depth += 1
        elif mark in "}]":
            self._depth -= 1
        return _MARKS_IN_JSON.get(mark, mark)

    def _word(self, word: str) -> str:
        return json.dumps(word, ensure_ascii=False) if self._rest[0] == ":" else word


MAX_ENFORCED = 500
"""Properties of a tool that are enforced. Each rule refers to the next one, and llguidance follows
them by recursion: it crashed at 3,000."""
_KEY = r'[^\s:{}\[\],<>"]+'


class GemmaRules:
    """Write rules that enforce names, required ones and JSON types; other keywords are ignored."""

    def __init__(self, rules: LarkRules) -> None:
        self._rules = rules
        self._named = 0  # properties of the tool under way
        rules.lines.append(f"UNQUOTED: {ALL} & ~/(?s:.*{pattern_of(QUOTE)}.*)/")
        rules.lines += [
            f"string: {rules.text(QUOTE)} {rules.up_to('STRING', QUOTE, 'UNQUOTED')}",
            'any_value: string | any_scalar | "{" any_members "}" | any_list',
            f"any_scalar: {rules.json({'type': ['number', 'boolean', 'null']})}",
            'any_list: "[" (any_value ("," any_value)*)? "]"',
            'any_members: (any_member ("," any_member)*)?',
            'any_member: (ANY_KEY | string) ":" any_value',
            f"ANY_KEY: /{_KEY}/",
        ]

    def arguments(self, schema: Schema) -> str:
        """Return the rule of a tool's arguments."""
        self._named = 0
        return self._members(schema)

    def _members(self, schema: Schema) -> str:
        """Return the rule of the members of an object, with sorted keys."""
        rules, known, needed = self._rules, properties(schema), required(schema)
        self._named += len(known)
        is_loose = self._named > MAX_ENFORCED or not is_closed(schema)
        if is_loose or any(QUOTE in name for name in known):
            rules.enforce_only(schema, {"type"})
            return "any_members"
        rules.enforce_only(schema, OBJECT)
        # From the last key to the first one. `first` are the members from a key on if none is
        # before them, `rest` those after another one: each of them has a comma before it.
        first = rest = '""'
        for name in sorted(known, key=str.lower, reverse=True):
            member = rules.add("member", f"{rules.text(_key(name))} {self._value(known[name])}")
            without, optional = ("", "") if name in needed else (f" | {first}", "?")
            first = rules.add("first", f"{member} {rest}{without}")
            rest = rules.add("rest", f'("," {member}){optional} {rest}')
        return first

    def _value(self, schema: object) -> str:
        if not isinstance(schema, dict):
            return "any_value"
        rules, alternatives = self._rules, schema.get("anyOf")
        texts = [text for text in texts_of(schema) if QUOTE not in text]
        if texts:
            rules.enforce_only(schema, {"type", "enum", "const"})
            return _one_of(rules.text(f"{QUOTE}{text}{QUOTE}") for text in texts)
        if isinstance(alternatives, list) and alternatives:
            rules.enforce_only(schema, {"anyOf"})
            return _one_of(map(self._value, alternatives))
        kinds = schema.get("type")
        listed = kinds if isinstance(kinds, list) else [kinds]
        return _one_of(self._value_of_type(kind, schema) for kind in listed)

    def _value_of_type(self, kind: object, schema: Schema) -> str:
        rules = self._rules
        match kind:
            case "object":
                return f'"{{" {self._members(schema)} "}}"'
            case "array":
                items = "any_value" if "prefixItems" in schema else self._value(schema.get("items"))
                rules.enforce_only(schema, {"type", "items"})
                return f'"[" ({items} ("," {items})*)? "]"'
        rules.enforce_only(schema, {"type"})
        if kind in ("number", "integer", "boolean", "null"):
            return rules.add("scalar", rules.json({"type": kind}))
        return "string" if kind == "string" else "any_value"


def _key(name: str) -> str:
    """Return a key as Gemma writes it, quoted only if it could not be read otherwise."""
    return f"{name}:" if re.fullmatch(_KEY, name) else f"{QUOTE}{name}{QUOTE}:"


def _one_of(alternatives: Iterable[str]) -> str:
    return f"({' | '.join(alternatives)})"


_END = "\n</parameter>\n"


class XmlArguments:
    """Arguments that are XML elements: text where the schema says string, JSON elsewhere."""

    _ELEMENT = re.compile(r"\s*<parameter=([^>]*)>\n(.*?)\n</parameter>\n", re.DOTALL)
    _LAST = re.compile(r"\s*(?=</function>)")

    def __init__(self, schema: Schema) -> None:
        self._schemas = properties(schema)
        self._rest, self._has_begun = "", False

    def read(self, text: str) -> tuple[str, str | None]:
        """Read more text; see `JsonArguments`."""
        self._rest += text
        added = ""
        while element := self._ELEMENT.match(self._rest):
            self._rest = self._rest[element.end() :]
            name, value = element.groups()
            is_text = self._schemas.get(name, {"type": "string"}).get("type") == "string"
            if is_text or not _is_json(value):
                value = json.dumps(value, ensure_ascii=False)
            added += f"{', ' if self._has_begun else '{'}{json.dumps(name)}: {value}"
            self._has_begun = True
        if end := self._LAST.match(self._rest):
            return added + ("}" if self._has_begun else "{}"), self._rest[end.end() :]
        return added, None


class XmlRules:
    """Write rules that enforce the names, the required ones and the JSON types of arguments."""

    def __init__(self, rules: LarkRules) -> None:
        self._rules = rules
        # Without its last newline the end does not overlap with itself. Otherwise a lexer that
        # reads a newline as the start of the end could not undo that.
        rules.lines.append(f'any_text: {rules.up_to("TEXT", _END[:-1])} "\\n"')

    def arguments(self, schema: Schema) -> str:
        """Return the rule of a tool's arguments, in the order of its schema."""
        known, needed = properties(schema), required(schema)
        named = {name: part for name, part in known.items() if ">" not in name}
        self._rules.enforce_only(schema, OBJECT)
        self._rules.unenforced |= {"required"} if needed - {*named} else set()
        if not named and schema.get("additionalProperties") is not False:
            return '("<parameter=" /[A-Za-z_][A-Za-z0-9_.-]*/ ">\\n" any_text)*'
        shared: Schema = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        elements = ""
        for name, part in named.items():
            if part.get("type") == "string":
                value = self._text(part)
            else:
                rule = self._rules.add("value", self._rules.json({**part, **shared}))
                value = f"{rule} {literal(_END)}"
            head = literal(f"<parameter={name}>\n")
            elements += f" ({head} {value})" + ("" if name in needed else "?")
        return elements or '""'

    def _text(self, schema: Schema) -> str:
        texts = texts_of(schema)
        self._rules.enforce_only(schema, {"type", "enum", "const"} if texts else {"type"})
        return _one_of(literal(text + _END) for text in texts) if texts else "any_text"


def _is_json(value: str) -> bool:
    try:
        msgspec.json.decode(value, type=msgspec.Raw)  # with numbers of any length
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
