"""What is known of a schema before a grammar is made of it."""

import pytest

from assistant.calling.lark import is_endless


def ref(to):
    return {"$ref": to}


def needing(schema, **more):
    """Return the schema of an object that needs something."""
    return {"type": "object", "properties": {"a": schema}, "required": ["a"], **more}


def listed(schema, **more):
    return {"type": "array", "items": schema, **more}


ENDS = [
    {},
    needing({"type": "string"}),
    {"properties": {"a": ref("#")}},
    needing(listed(ref("#"))),
    needing(listed(ref("#"), minItems=0)),
    needing({"anyOf": [ref("#"), {"type": "null"}]}),
    needing(ref("#/$defs/b"), **{"$defs": {"b": {"oneOf": [needing(ref("#/$defs/b")), {}]}}}),
    needing(ref("#/nowhere")),
    needing(ref("http://127.0.0.1/x.json")),
    {"properties": {"$ref": {"type": "string"}, "required": {"type": "array"}, "items": False}},
    needing({"enum": [1, {"x": 2}]}),
    {"allOf": [{"type": "object"}]},
    {"anyOf": [], "allOf": 5, "required": "a", "properties": [], "minItems": "x"},
]
NEVER = [
    ref("#"),
    needing(ref("#")),
    needing(ref("#/properties/a")),
    {"properties": {"a": ref("#/properties/a")}},
    needing(listed(ref("#"), minItems=1)),
    needing({"anyOf": [ref("#"), ref("#/properties/a")]}),
    needing({"allOf": [{"type": "object"}, ref("#")]}),
    {
        "properties": {"x": ref("#/$defs/a%20b")},
        "$defs": {"a b": ref("#/$defs/c"), "c": ref("#/$defs/a b")},
    },
    {"$defs": {"a~/b": needing(ref("#/$defs/a~0~1b"))}},
    {"anyOf": [{"type": "string"}, ref("#/anyOf/1")]},
]


@pytest.mark.parametrize("schema", ENDS)
def test_a_schema_that_some_finite_value_has_is_not_endless(schema):
    assert not is_endless(schema)


@pytest.mark.parametrize("schema", NEVER)
def test_a_schema_that_requires_itself_is_endless(schema):
    assert is_endless(schema)


def test_long_chains_of_references_are_decided():
    """Each pass decides what stands after what it needs; beyond a bound it counts as endless."""
    chain = {f"d{i}": ref(f"#/$defs/d{i + 1}") for i in range(20_000)}
    assert is_endless({"$defs": {**chain, "d20000": ref("#/$defs/d0")}})
    backwards = {f"d{i}": ref(f"#/$defs/d{i - 1}") for i in range(1, 20_000)}
    assert not is_endless({"$defs": {"d0": {}, **dict(reversed(backwards.items()))}})
