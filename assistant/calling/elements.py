"""The arguments of Qwen3-Coder's calls: what their elements may look like, and are in JSON."""

import json
import re
from collections.abc import Iterable

from assistant.calling.arguments import Schema, properties, required
from assistant.calling.lark import LarkRules, quoted
from assistant.calling.texts import OBJECT, TEXTS, further

_END = "\n</parameter>\n"


class XmlArguments:
    """Elements, each on lines of its own; a value is text where the schema says so, else JSON."""

    _ELEMENT = re.compile(r"\s*<parameter=([^>]*)>\n(.*?)\n</parameter>\n", re.DOTALL)
    _LAST = re.compile(r"\s*(?=</function>)")

    def __init__(self, schema: Schema) -> None:
        self._schemas = properties(schema)
        self._rest, self._any = "", False

    def read(self, text: str) -> tuple[str, str | None]:
        """Read on; see `Arguments`."""
        self._rest += text
        added = ""
        while element := self._ELEMENT.match(self._rest):
            self._rest = self._rest[element.end() :]
            name, value = element.groups()
            if _is_text(self._schemas.get(name, {"type": "string"})) or not _is_json(value):
                value = json.dumps(value, ensure_ascii=False)
            added += f"{', ' if self._any else '{'}{json.dumps(name)}: {value}"
            self._any = True
        if end := self._LAST.match(self._rest):
            return added + ("}" if self._any else "{}"), self._rest[end.end() :]
        return added, None


class XmlRules:
    """Write the rules of arguments."""

    def __init__(self, rules: LarkRules) -> None:
        self._rules = rules
        rules.lines.append(f"any_text: {self._text('TEXT')}")

    def elements(self, schema: Schema) -> str:
        """Return what the elements of arguments are, in the order of the schema."""
        known, needed = properties(schema), required(schema)
        named = {name: each for name, each in known.items() if ">" not in name}
        beyond = further(schema, OBJECT)
        self._rules.leave("", beyond | {"required"} if needed - {*named} else beyond)
        if not named and schema.get("additionalProperties") is not False:
            return '("<parameter=" /[A-Za-z_][A-Za-z0-9_.-]*/ ">\\n" any_text)*'
        shared: Schema = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        elements = ""
        for name, each in named.items():
            if _is_text(each):
                value = self._value(name, each)
            else:
                rule = self._rules.add("value", self._rules.json({**each, **shared}))
                value = f"{rule} {quoted(_END)}"
            head = quoted(f"<parameter={name}>\n")
            elements += f" ({head} {value})" + ("" if name in needed else "?")
        return elements or '""'

    def _value(self, name: str, schema: Schema) -> str:
        """Return what a text is, up to the end of its element."""
        rules = self._rules
        listed = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(listed, list):
            rules.leave(name, further(schema, {"type", "const", "enum"}))
            texts = (each for each in listed if isinstance(each, str) and _END[:-1] not in each)
            return f"({' | '.join(quoted(text + _END) for text in texts)})"
        rules.leave(name, further(schema, {"type", *TEXTS}))
        patterns = rules.patterns(name, schema)
        return self._text(f"TEXT_{len(rules.lines)}", patterns) if patterns else "any_text"

    def _text(self, name: str, patterns: Iterable[str] = ()) -> str:
        # A text ends with what does not overlap with itself: one that goes on could not go back.
        return f'{self._rules.up_to(name, _END[:-1], patterns=patterns)} "\\n"'


def _is_text(schema: Schema) -> bool:
    """Say whether a value is a string, and needs no quotes."""
    return schema.get("type") == "string"


def _is_json(value: str) -> bool:
    try:
        # Of a number only its digits count here: it may have more than Python converts.
        json.loads(value, parse_int=str, parse_float=str, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> str:
    raise ValueError(f"{constant} is no JSON")
