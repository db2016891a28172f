"""Schemas that no finite value satisfies, because they require themselves."""

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from assistant.calling.arguments import Schema, properties, required

MOST_PASSES = 100
"""Passes over a tool's schemas; those that people write need a few."""


def is_endless(root: Schema) -> bool:
    """Say whether a schema, or one within it, requires itself without an alternative.

    The least fixed point of this rule is the set of schemas with finite values: a schema has one if
    each of its needs has an alternative that has one.
    """
    schemas = [each for each in _within(root) if isinstance(each, dict)]
    needs = {id(each): [*_needs(each, root)] for each in schemas}
    ends: set[int] = set()
    for _ in range(MOST_PASSES):
        before = len(ends)
        for each in reversed(schemas):  # the innermost first
            if all(any(id(way) in ends for way in ways) for ways in needs[id(each)]):
                ends.add(id(each))
        if len(ends) in (before, len(schemas)):
            break
    return len(ends) < len(schemas)


def _within(root: object) -> list[object]:
    """Return a schema and all objects and lists within it, also those that are no schemas."""
    found = [root]
    for each in found:
        inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        found += [value for value in inner if isinstance(value, dict | list)]
    return found


def _needs(schema: Schema, root: Schema) -> Iterator[list[object]]:
    """Yield the needs of a schema: lists of schemas, one of which must have a value."""
    least, reference = schema.get("minItems"), schema.get("$ref")
    known, needed = properties(schema), required(schema)
    parts: list[object] = [known[name] for name in needed & {*known}]
    parts += [schema["items"]] if isinstance(least, int) and least and "items" in schema else []
    parts += [_pointed(root, reference)] if isinstance(reference, str) else []
    alike = schema.get("allOf")
    parts += alike if isinstance(alike, list) else []
    for ways in (*([part] for part in parts), schema.get("anyOf"), schema.get("oneOf")):
        if isinstance(ways, list) and ways and all(isinstance(way, dict) for way in ways):
            yield ways


def _pointed(root: Schema, reference: str) -> object:
    """Return the target of a JSON pointer into `root`; None if there is none."""
    place: object = root if reference.startswith("#") else None
    for part in unquote(reference).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(place, list) and key.isdecimal() and int(key) < len(place):
            place = place[int(key)]
        else:
            place = place.get(key) if isinstance(place, dict) else None
    return place


ALL = "/(?s:.*)/"


class LarkRules:
    """Collect the rules of one grammar.

    Args:
        controls: ids of the control tokens by name.
        style: llguidance's options for the layout of JSON.
    """

    def __init__(self, controls: Mapping[str, int], style: Mapping[str, object]) -> None:
        self.lines: list[str] = []
        self.unenforced: set[str] = set()
        """Keywords of the schemas that these rules do not enforce."""
        self._controls, self._style = controls, style

    def add(self, name: str, body: str) -> str:
        """Add a rule; return its name, which is made unique by a number."""
        name = f"{name}_{len(self.lines)}"
        self.lines.append(f"{name}: {body}")
        return name

    def json(self, schema: Schema) -> str:
        """Return the expression of a JSON value that has a schema.

        Raises:
            ValueError: no finite value has it.
        """
        if is_endless(schema):
            raise ValueError("it requires itself without end")
        return "%json " + json.dumps({**schema, "x-guidance": self._style})

    def text(self, text: str) -> str:
        """Return the expression of a fixed text, in which control tokens may stand."""
        return " ".join(
            f"<[{self._controls[part]}]>" if part in self._controls else quoted(part)
            for part in self._parts(text)
        )

    def up_to(self, name: str, end: str, what: str = "") -> str:
        """Return the expression of a text that ends with `end`, by a terminal called `name`.

        What comes before the end is `what`, or any text without it.
        """
        first, *rest = self._parts(end)
        controlled = first in self._controls
        if not what:
            what = ALL if controlled else f"{ALL} & ~/(?s:.*{pattern_of(first)}.*)/"
        if controlled:
            self.lines.append(f"{name}: {what}")
            return f"{name} {self.text(end)}"
        self.lines += [f"{name}_PART: {what}", f"{name}: {name}_PART {quoted(first)}"]
        return f"{name} {self.text(''.join(rest))}"

    def _parts(self, text: str) -> list[str]:
        """Split a text into control tokens and what is between them."""
        names = sorted((name for name in self._controls if name in text), key=len, reverse=True)
        if not names:
            return [text] if text else []
        return [part for part in re.split(f"({'|'.join(map(re.escape, names))})", text) if part]


def quoted(text: str) -> str:
    """Return the literal of a text without control tokens."""
    return json.dumps(text, ensure_ascii=False)


def pattern_of(text: str) -> str:
    """Return a regular expression that matches exactly this text."""
    return "".join(c if c.isascii() and c.isalnum() else f"\\x{{{ord(c):X}}}" for c in text)
