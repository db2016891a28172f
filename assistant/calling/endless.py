"""Schemas that no finite value satisfies, because they require themselves."""

from collections.abc import Iterator
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
