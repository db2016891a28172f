"""The arguments of a call, read as they come, and what schemas say of them."""

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


def properties(schema: Schema) -> dict[str, Schema]:
    """Return what a schema says of each property that an object may have."""
    known = schema.get("properties")
    named = known.items() if isinstance(known, dict) else ()
    return {
        name: each if isinstance(each, dict) else {} for name, each in named if each is not False
    }


def required(schema: Schema) -> set[str]:
    """Return the names of the properties that an object needs."""
    names = schema.get("required")
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()
