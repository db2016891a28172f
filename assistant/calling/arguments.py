"""The arguments of a call, read as they come: JSON, also where the model writes another syntax."""

import json
import re
from typing import Protocol

Schema = dict[str, object]


class Arguments(Protocol):
    """The arguments of one call."""

    def read(self, text: str) -> tuple[str, str | None]:
        """Read on; return the JSON that this adds, and what follows the end: None before it."""
        ...


class JsonArguments:
    """An object in JSON."""

    def __init__(self) -> None:
        self._depth = 0
        self._quoted = self._escaped = False

    def read(self, text: str) -> tuple[str, str | None]:
        """Read on; see `Arguments`."""
        for place, character in enumerate(text):
            if self._escaped:
                self._escaped = False
            elif self._quoted:
                self._escaped = character == "\\"
                self._quoted = character != '"'
            elif character == '"':
                self._quoted = True
            elif character in "{[":
                self._depth += 1
            elif character in "}]":
                self._depth -= 1
                if self._depth <= 0:
                    return text[: place + 1], text[place + 1 :]
        return text, None


class XmlArguments:
    """Elements of Qwen3-Coder's; a value is text where the schema says so, else JSON."""

    _ELEMENT = re.compile(r"\s*<parameter=([^>]*)>\n(.*?)\n</parameter>\n", re.DOTALL)
    _END = re.compile(r"\s*(?=</function>)")

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
            if not is_text(self._schemas.get(name, {"type": "string"})):
                value = json.dumps(_number_or_text(value), ensure_ascii=False)
            else:
                value = json.dumps(value, ensure_ascii=False)
            added += f"{', ' if self._any else '{'}{json.dumps(name)}: {value}"
            self._any = True
        if end := self._END.match(self._rest):
            return added + ("}" if self._any else "{}"), self._rest[end.end() :]
        return added, None


def properties(schema: Schema) -> dict[str, Schema]:
    """Return what a schema says of each property of an object."""
    known = schema.get("properties")
    named = known.items() if isinstance(known, dict) else ()
    return {name: each if isinstance(each, dict) else {} for name, each in named}


def is_text(schema: Schema) -> bool:
    """Say whether a value is a string, and needs no quotes."""
    return schema.get("type") == "string"


def _number_or_text(value: str) -> object:
    try:
        return json.loads(value)
    except ValueError:
        return value
