"""Arguments in Qwen3-Coder's XML: their parser, and the rules of their grammar."""

import json
import re

import msgspec

from assistant.calling.arguments import OBJECT, Schema, properties, required, texts_of
from assistant.calling.lark import LarkRules, quoted

_END = "\n</parameter>\n"


class XmlArguments:
    """Arguments that are XML elements: text where the schema says string, JSON elsewhere."""

    _ELEMENT = re.compile(r"\s*<parameter=([^>]*)>\n(.*?)\n</parameter>\n", re.DOTALL)
    _LAST = re.compile(r"\s*(?=</function>)")

    def __init__(self, schema: Schema) -> None:
        self._schemas = properties(schema)
        self._rest, self._any = "", False

    def read(self, text: str) -> tuple[str, str | None]:
        """Take more text; see `JsonArguments`."""
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
    """Write rules that enforce the names, the required ones and the JSON types of arguments."""

    def __init__(self, rules: LarkRules) -> None:
        self._rules = rules
        # Without its last newline the end does not overlap with itself. Otherwise a lexer that
        # has taken a newline for the start of the end could not take it back.
        rules.lines.append(f'any_text: {rules.up_to("TEXT", _END[:-1])} "\\n"')

    def elements(self, schema: Schema) -> str:
        """Return the rule of an object's elements, in the order of its schema."""
        known, needed = properties(schema), required(schema)
        named = {name: each for name, each in known.items() if ">" not in name}
        self._rules.enforce_only(schema, OBJECT)
        self._rules.unenforced |= {"required"} if needed - {*named} else set()
        if not named and schema.get("additionalProperties") is not False:
            return '("<parameter=" /[A-Za-z_][A-Za-z0-9_.-]*/ ">\\n" any_text)*'
        shared: Schema = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        elements = ""
        for name, each in named.items():
            if _is_text(each):
                value = self._text(each)
            else:
                rule = self._rules.add("value", self._rules.json({**each, **shared}))
                value = f"{rule} {quoted(_END)}"
            head = quoted(f"<parameter={name}>\n")
            elements += f" ({head} {value})" + ("" if name in needed else "?")
        return elements or '""'

    def _text(self, schema: Schema) -> str:
        texts = texts_of(schema)
        enforced = {"type", "enum", "const"} if texts else {"type"}
        self._rules.enforce_only(schema, enforced)
        return f"({' | '.join(quoted(text + _END) for text in texts)})" if texts else "any_text"


def _is_text(schema: Schema) -> bool:
    """Say whether a value is a string, which the syntax writes without quotes."""
    return schema.get("type") == "string"


def _is_json(value: str) -> bool:
    try:
        msgspec.json.decode(value, type=msgspec.Raw)  # with numbers of any length
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
