"""The syntaxes of Qwen3-Coder and Gemma 4: what their grammars enforce is read as it was meant."""

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llguidance import LLParserLimits

from assistant.calling.arguments import ANY_OBJECT, closed
from assistant.calling.syntaxes import GemmaArguments, XmlArguments
from assistant.request import Tool
from models.errors import UsageError
from tests.assistant.calling.tool_calls import GEMMA, KINDS, XML, asking, calls, fits, wrote

SYNTAXES = [(XML, KINDS[0]), (GEMMA, KINDS[0]), (GEMMA, KINDS[1])]
by_syntax = pytest.mark.parametrize(("form", "words"), SYNTAXES, ids=["xml", "gemma", "controls"])


def finding(schema, strict=False):
    return asking(Tool("find", "", json.dumps(schema), strict), parallel_calls=False)


def of(text, **more):
    return {"properties": {"a": {"type": "string", **text}}, "required": ["a"], **more}


def spelt_text(form, text):
    return f"<parameter=a>\n{text}\n</parameter>\n" if form is XML else f'a:<|"|>{text}<|"|>'


@by_syntax
@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({}, ["", "ab", 'é漢\n"<'], []),
        ({"enum": ["x", 'y"<']}, ["x", 'y"<'], ["", "xx"]),
        ({"const": "x"}, ["x"], ["y"]),
        ({"enum": ["x", 3, None]}, ["x", "y"], []),
        ({"pattern": "^a", "minLength": 2}, ["", "bc"], []),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, ["a", "c"], []),
    ],
)
def test_a_text_is_one_of_those_its_schema_lists_and_else_any(form, words, schema, right, wrong):
    request = finding(of(schema))
    assert not calls(words, form, request)[1]
    for text in right + wrong:
        written = wrote(form, ("find", spelt_text(form, text)))
        assert fits(words, form, request, written)[1] == (text in right), text


NESTED = {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}}
BEYOND = [
    ((XML, GEMMA), of({"format": "ipv6", "pattern": "a"}), "format, pattern"),
    ((XML, GEMMA), of({"enum": ["a", 1]}), "enum"),
    ((XML,), of({}, anyOf=[{"required": ["a"]}]), "anyOf"),
    ((GEMMA,), of({}, anyOf=[{"required": ["a"]}]), "anyOf, properties, required"),
    ((XML,), {"properties": {"a>b": {}}, "required": ["a>b"]}, "required"),
    ((GEMMA,), {"properties": {"a": {**NESTED, "maxItems": 2}}}, "maxItems"),
    ((GEMMA,), {"properties": {"a": {"type": "integer", "minimum": 3}}}, "minimum"),
    ((GEMMA,), {"properties": {"a": {"oneOf": [{"type": "string"}]}}}, "oneOf"),
    (
        (GEMMA,),
        of({}, additionalProperties={"type": "string"}),
        "additionalProperties, properties, required",
    ),
]


@pytest.mark.parametrize(
    ("form", "schema", "what"), [(form, *rest) for forms, *rest in BEYOND for form in forms]
)
def test_a_keyword_that_no_syntax_enforces_is_refused_of_a_strict_tool_alone(form, schema, what):
    assert calls(KINDS[0], form, finding(schema))[1] == []
    with pytest.raises(UsageError, match=f"^The tool find cannot be strict: {what} cannot be enf"):
        calls(KINDS[0], form, finding(schema, strict=True))


def go_on(mask, tokens, rng):
    while True:
        mask.masked(np.zeros(KINDS[0].size, np.float32), tokens)
        tokens += KINDS[0].tokens(rng.choice("abc"))


def test_a_text_that_is_too_complex_ends_an_answer_and_none_after_it(monkeypatch):
    few = LLParserLimits(verbose_errors=False, max_lexer_states=1000)
    monkeypatch.setattr("assistant.constraints.grammar.LIMITS", few)
    words, rng = KINDS[0], random.Random(1)
    texts = {"odd": {"type": ["string", "null"], "pattern": "(a|b)*c.{60}d"}, "find": {}}
    tools = tuple(Tool(name, "", json.dumps(of(text))) for name, text in texts.items())
    request = asking(*tools)
    (before, _), (mask, _) = calls(words, XML, request), calls(words, XML, request)
    tokens = words.tokens(XML.opens + "odd" + XML.between + '<parameter=a>\n"')
    with pytest.raises(UsageError, match="too complex"):
        go_on(mask, tokens, rng)
    call = words.tokens(wrote(XML, ("find", spelt_text(XML, "aaa"))))
    assert calls(words, XML, request)[0].count_allowed([], call) == len(call)
    assert before.count_allowed([], call) < len(call)  # the law is no luck


def test_a_tool_that_makes_no_rules_does_not_keep_others_from_being_called():
    odd = {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "array"}}}
    tools = (Tool("odd", "", json.dumps(odd)), Tool("find", "", json.dumps(of({}))))
    written = wrote(XML, ("find", spelt_text(XML, "x")), ("odd", spelt_text(XML, "y")))
    _, (remark,) = calls(KINDS[0], XML, asking(*tools))
    assert remark.startswith("The tool odd may be called with any arguments")
    assert fits(KINDS[0], XML, asking(*tools), written)[0]


WHOLE = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["a", "b\n"]},
        "more": {"type": ["boolean", "null"]},
        "never": False,
        "yes": {"type": "boolean"},
    },
    "required": ["kind", "yes"],
    "additionalProperties": False,
}


@by_syntax
def test_the_arguments_of_a_strict_tool_fit_its_schema(form, words):
    """Tokens by chance, under the mask."""
    jsonschema = pytest.importorskip("jsonschema")
    right = jsonschema.Draft202012Validator(WHOLE, format_checker=jsonschema.FormatChecker())
    for seed in range(20):
        rng, tokens = np.random.default_rng(seed), list[int]()
        asked = finding(WHOLE, strict=True)
        mask, remarks = words.forms.call_mask(form, asked, tokens, lambda context: 0)
        assert not remarks
        while not mask.is_over:
            noise = rng.random(words.size).astype(np.float32)
            tokens.append(int(mask.masked(noise, tokens).argmax()))
        names = {number: name for name, number in words.controls.items()}
        pieces = (names.get(token) or words.pieces[token].decode("latin-1") for token in tokens)
        text = "".join(pieces).encode("latin-1").decode()
        reader = XmlArguments(closed(WHOLE)) if form is XML else GemmaArguments()
        written, rest = reader.read(text.partition(form.opens + "find" + form.between)[2])
        assert rest is not None
        right.validate(json.loads(written))


@pytest.mark.parametrize("value", ["1e999", "9" * 5000, "[" * 5000, "NaN", "-0", '{"b": [1, 2]}'])
def test_a_value_in_an_element_is_read_as_json(value):
    reader = XmlArguments({"properties": {"a": {"type": "number"}}})
    written, _ = reader.read(f"<parameter=a>\n{value}\n</parameter>\n</function>")
    kept = written == f'{{"a": {value}}}'
    assert kept == (value not in ("NaN", "[" * 5000))
    assert kept or json.loads(written) == {"a": value}


@pytest.mark.parametrize("required", [3, [["a"]], "a"])
def test_a_schema_that_requires_nonsense_is_still_one(required):
    assert closed({"properties": {"a": {}}, "required": required})["type"] == ANY_OBJECT["type"]
    for form, words in SYNTAXES:
        calls(words, form, finding({"properties": {"a": {}}, "required": required}))


# Gemma 4's

by_vocabulary = pytest.mark.parametrize("words", KINDS, ids=["as text", "as control tokens"])


def allows(words, schema, arguments):
    """Say whether a call may have such arguments."""
    return fits(words, GEMMA, finding(schema), wrote(GEMMA, ("find", arguments)))[1]


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
    mask, _ = calls(words, GEMMA, finding(properties({"a": TEXT})))
    begun = words.tokens('<|tool_call>call:find{a:<|"|>x')
    assert mask.count_allowed([], [*begun, *words.tokenize('<|"|')]) == len(begun) + 4
    assert mask.count_allowed([], [*begun, *words.tokenize('<|"|>')]) == len(begun) + 4


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
