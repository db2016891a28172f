"""Gemma 4's arguments: the reader reads what the grammar allows as the JSON of the schema."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.calling.syntaxes import GemmaArguments
from assistant.request import Tool
from tests.assistant.calling.tool_calls import GEMMA, KINDS, asking, calls, fits, wrote

by_vocabulary = pytest.mark.parametrize("words", KINDS, ids=["as text", "as control tokens"])


def allows(words, schema, arguments):
    """Say whether a call may have such arguments."""
    request = asking(Tool("find", "", json.dumps(schema)))
    return fits(words, GEMMA, request, wrote(GEMMA, ("find", arguments)))[1]


def spelt(value):
    """Return a value as Gemma 4's template writes it."""
    if isinstance(value, dict):
        keys = sorted(value, key=str.lower)
        return f"{{{','.join(f'{key}:{spelt(value[key])}' for key in keys)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(spelt, value))}]"
    return f'<|"|>{value}<|"|>' if isinstance(value, str) else json.dumps(value)


def read(text):
    reader, arguments = GemmaArguments(), ""
    for i, each in enumerate(text):
        more, rest = reader.read(each)
        arguments += more
        if rest is not None:
            return json.loads(arguments), rest + text[i + 1 :]
    return arguments, None


def properties(known, required=()):
    return {"type": "object", "properties": known, "required": list(required)}


TEXT = {"type": "string"}
SCHEMA = properties(
    {
        "b": TEXT,
        "a": {"type": "integer"},
        "unit": {"enum": ["c", "f"]},
        "list": {"type": "array", "items": properties({"x": TEXT, "n": {"type": "null"}}, ["x"])},
        "or": {"anyOf": [{"type": "boolean"}, {"type": "array", "items": TEXT}]},
        "any": {},
        "o:d d": {"type": ["number", "string"]},
    },
    ["b", "list"],
)


@by_vocabulary
@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        ('b:<|"|>x<|"|>,list:[]', True),
        ('a:3,b:<|"|>}"<tool\n,é<|"|>,list:[{x:<|"|><|"|>},{n:null,x:<|"|>y<|"|>}]', True),
        ('b:<|"|><|"|>,list:[],<|"|>o:d d<|"|>:-2.5', True),
        ('b:<|"|><|"|>,list:[],or:[<|"|>x<|"|>],unit:<|"|>c<|"|>', True),
        ('any:{q-1:[1.5,{}],é:<|"|>,<|"|>},b:<|"|><|"|>,list:[],or:true', True),
        ("list:[]", False),
        ('list:[],b:<|"|><|"|>', False),
        ('b:<|"|><|"|>,list:[],', False),
        ('a:2.5,b:<|"|><|"|>,list:[]', False),
        ('b:<|"|><|"|>,list:[{}]', False),
        ('b:<|"|><|"|>,list:[],or:[1]', False),
        ('b:<|"|><|"|>,list:[],z:1', False),
        ('b:<|"|><|"|>,list:[],unit:<|"|>d<|"|>', False),
    ],
)
def test_arguments_fit_the_schema_in_the_order_of_its_keys(words, arguments, fits):
    assert allows(words, SCHEMA, arguments) == fits
    if fits:
        assert read(f"{arguments}}}<tool_call|>")[1] == "<tool_call|>"


@by_vocabulary
@pytest.mark.parametrize(
    "schema",
    [
        "no schema",
        {"$ref": "#/$defs/x", "$defs": {"x": properties({"a": {"type": "array"}})}},
        properties({}, ["a"]),
        {**properties({"b": TEXT}), "additionalProperties": True},
        {**properties({}), "patternProperties": {"^a": {"type": "array"}}},
        properties({"a": {"$ref": "#/$defs/x"}}) | {"$defs": {"x": {"type": "array"}}},
        properties({"a": {"prefixItems": [TEXT]}}),
        properties({'<|"|>': TEXT}),
        {**properties({"b": TEXT}), "anyOf": [properties({"a": {"type": "array"}})]},
    ],
)
def test_a_schema_that_is_not_understood_allows_any_value(words, schema):
    assert allows(words, schema, "a:[1,{b:null}]")
    assert not allows(words, schema, "a:[1,{b:nil}]")


def test_no_text_that_spells_the_end_of_a_string_stands_in_one():
    """A reader of the text could not tell it from the control token that ends it."""
    words = KINDS[1]
    tool = Tool("find", "", json.dumps(properties({"a": TEXT})))
    mask, _ = calls(words, GEMMA, asking(tool))
    begun = words.tokens('<|tool_call>call:find{a:<|"|>x')
    assert mask.fitting([], [*begun, *words.tokenize('<|"|')]) == len(begun) + 4
    assert mask.fitting([], [*begun, *words.tokenize('<|"|>')]) == len(begun) + 4


KEYS = st.text("abAB_é1", min_size=1, max_size=3)
STRINGS = st.text(st.sampled_from('ab"\\<|>{}[],:\n\x07é漢 '), max_size=8).filter(
    lambda text: '<|"|>' not in text
)
LEAVES = st.sampled_from(
    [
        (TEXT, STRINGS),
        ({"type": "string", "enum": ["x", 'y"}']}, st.sampled_from(["x", 'y"}'])),
        ({"type": "integer"}, st.integers(-(10**6), 10**6)),
        ({"type": "number"}, st.floats(-1e6, 1e6).map(lambda number: round(number, 3))),
        ({"type": "boolean"}, st.booleans()),
        ({"type": "null"}, st.none()),
        ({}, STRINGS | st.lists(st.dictionaries(KEYS, STRINGS, max_size=2), max_size=2)),
    ]
)


def objects(inner):
    def made(fields, needed):
        required = {name: values for name, (_, values) in fields.items() if name in needed}
        optional = {name: values for name, (_, values) in fields.items() if name not in needed}
        schema = properties({name: each for name, (each, _) in fields.items()}, required)
        return schema, st.fixed_dictionaries(required, optional=optional)

    fields = st.lists(st.tuples(KEYS, inner), max_size=4, unique_by=lambda field: field[0].lower())
    return st.builds(made, fields.map(dict), st.sets(KEYS))


def lists(inner):
    return inner.map(lambda i: ({"type": "array", "items": i[0]}, st.lists(i[1], max_size=3)))


CASES = objects(st.recursive(LEAVES, lambda inner: lists(inner) | objects(inner), max_leaves=5))


@by_vocabulary
def test_any_value_that_fits_a_schema_may_be_written_and_is_read_as_the_same(words):
    @settings(max_examples=100, deadline=None)
    @given(CASES.flatmap(lambda case: st.tuples(st.just(case[0]), case[1])))
    def law(case):
        schema, value = case
        arguments = spelt(value)
        assert allows(words, schema, arguments[1:-1])
        assert read(arguments[1:] + "<tool_call|>") == (value, "<tool_call|>")

    law()


def test_properties_without_end_are_any_properties_and_no_crash():
    """llguidance follows the rules of properties by recursion, and a native stack has an end."""
    schema = properties({f"p{n}": {"type": "null"} for n in range(20_000)})
    nested = properties({})
    for _ in range(60):
        nested = properties({f"p{n}": {"type": "null"} for n in range(99)} | {"z": nested})
    for each in (schema, nested):
        assert allows(KINDS[0], each, 'p1:null,q:<|"|>any<|"|>') is (each is schema)
