"""Schemas in the syntaxes of Qwen3-Coder and Gemma 4: the keywords that are enforced."""

import json
import random

import numpy as np
import pytest
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


def spelt(form, text):
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
        written = wrote(form, ("find", spelt(form, text)))
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
    call = words.tokens(wrote(XML, ("find", spelt(XML, "aaa"))))
    assert calls(words, XML, request)[0].fitting([], call) == len(call)
    assert before.fitting([], call) < len(call)  # the law is no luck


def test_a_tool_that_makes_no_rules_does_not_keep_others_from_being_called():
    odd = {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "array"}}}
    tools = (Tool("odd", "", json.dumps(odd)), Tool("find", "", json.dumps(of({}))))
    written = wrote(XML, ("find", spelt(XML, "x")), ("odd", spelt(XML, "y")))
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
        rng, tokens = np.random.default_rng(seed), []
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
