"""What a schema says of texts holds where calls write them as they are; what cannot, is told."""

import json
import random

import numpy as np
import pytest
from llguidance import LLParserLimits

from assistant.calling.elements import XmlArguments
from assistant.calling.gemma import GemmaArguments
from assistant.calling.grammar import ANY_OBJECT, closed
from assistant.request import Message, Request, Tool
from models.errors import UsageError
from tests.assistant.calling.called import GEMMA, XML, wrote
from tests.assistant.calling.test_gemma import KINDS, forms_of

SYNTAXES = [(XML, KINDS[0]), (GEMMA, KINDS[0]), (GEMMA, KINDS[1])]
by_syntax = pytest.mark.parametrize(("form", "words"), SYNTAXES, ids=["xml", "gemma", "controls"])
ASKED = (Message("user", "?"),)


def asking(schema, strict=False, name="find"):
    tool = Tool(name, "", json.dumps(schema), strict)
    return Request(ASKED, tools=(tool,), tool_choice="required", parallel_calls=False)


def of(text, **more):
    return {"properties": {"a": {"type": "string", **text}}, "required": ["a"], **more}


def spelt(form, text):
    return f"<parameter=a>\n{text}\n</parameter>\n" if form is XML else f'a:<|"|>{text}<|"|>'


def allows(form, words, schema, said):
    tokens = words.tokens(wrote(form, ("find", said)))
    made, remarks = forms_of(words).calls(form, asking(schema))
    mask = made(tokens, lambda context: 0)
    return mask.fitting([], tokens) == len(tokens) and mask.is_complete and not remarks


@by_syntax
@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"minLength": 2, "maxLength": 3}, ["ab", "é漢x", "a\nb"], ["", "é", "abcd"]),
        ({"maxLength": 0}, [""], ["a"]),
        ({"pattern": "^[a-c]+$"}, ["abc"], ["", "abd", "xa", "a\n"]),
        ({"pattern": "b"}, ["b", "a\nbc"], ["ac", ""]),
        ({"pattern": "^a|b$|^(?:c|/)d[|$]$"}, ["ax", "xb", "cd|", "/d$"], ["xa", "bx", "xcd|"]),
        ({"pattern": r"^\d\w\.\/\|$"}, ["1_./|"], ["١_./|", "1é./|", "1__/|"]),
        ({"pattern": "^a+$", "maxLength": 2, "minLength": 2}, ["aa"], ["a", "aaa", "ab"]),
        ({"format": "date"}, ["2024-02-29"], ["2023-02-29", "2024-13-01", "2024-1-1", "2024"]),
        ({"format": "time"}, ["23:59:01Z", "00:00:00.5+01:30"], ["24:00:00Z", "00:00:00"]),
        ({"format": "date-time"}, ["2024-04-30T10:00:00Z"], ["2024-04-31T10:00:00Z", "2024-04-30"]),
        ({"format": "email"}, ["a.b+c@d-e.org"], ["a", "@b", "a@", ".a@b", "a b@c", "a@-b"]),
        ({"format": "hostname"}, ["a-b.example"], ["a..b", "-a", "a_b", "a" * 64]),
        ({"format": "ipv4"}, ["10.0.0.255"], ["10.0.0.256", "10.0.0", "1.2.3.04"]),
        ({"format": "uuid"}, ["0123abcd-0000-0000-0000-0123456789AB"], ["0123abcd"]),
        (
            {"format": "uri"},
            ["https://a.org:80/b/c?d=e#f", "mailto:a@b.c", "urn:x:y", "file:///a%20b"],
            ["a.org", "http://a b", "http://a:b", "http://a/%2", "1a:b", ""],
        ),
        ({"enum": ["x", 'y"<']}, ["x", 'y"<'], ["", "xx"]),
        ({"enum": ["x", 3, None]}, ["x"], ["3", "null"]),
        ({"const": "x"}, ["x"], ["y"]),
    ],
)
def test_a_text_fits_its_schema(form, words, schema, right, wrong):
    for text in right:
        assert allows(form, words, of(schema), spelt(form, text)), text
    for text in wrong:
        assert not allows(form, words, of(schema), spelt(form, text)), text


NESTED = {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}}
BEYOND = [
    ((XML, GEMMA), of({"format": "ipv6"}), 'format of its parameter "a"'),
    ((XML, GEMMA), of({"enum": ["a"], "minLength": 1}), 'minLength of its parameter "a"'),
    ((XML, GEMMA), of({"const": "a", "pattern": "a"}), 'pattern of its parameter "a"'),
    ((XML,), of({"allOf": [{"minLength": 1}]}), 'allOf of its parameter "a"'),
    ((GEMMA,), of({"allOf": [{"minLength": 1}]}), 'allOf, type of its parameter "a"'),
    ((XML,), of({}, anyOf=[{"required": ["a"]}]), "anyOf of its parameters together"),
    (
        (GEMMA,),
        of({}, anyOf=[{"required": ["a"]}]),
        "anyOf, properties, required of its parameters",
    ),
    ((XML,), {"properties": {"a>b": {}}, "required": ["a>b"]}, "required of its parameters"),
    (
        (GEMMA,),
        {"properties": {"a": {**NESTED, "maxItems": 2}}},
        'maxItems of its parameter "a"',
    ),
    (
        (GEMMA,),
        {"properties": {"a": {"items": of({"format": "ipv6"}, type="object"), "type": "array"}}},
        'format of its parameter "a[].a"',
    ),
    ((GEMMA,), {"properties": {"a": {"anyOf": [{}], "type": "array"}}}, "type of its"),
    (
        (GEMMA,),
        {"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"type": "string"}}},
        '$ref of its parameter "a"',
    ),
    (
        (GEMMA,),
        of({}, additionalProperties={"type": "string"}),
        "additionalProperties, properties, required of its parameters together",
    ),
]


@pytest.mark.parametrize(
    ("form", "schema", "what"), [(form, *rest) for forms, *rest in BEYOND for form in forms]
)
def test_what_cannot_be_held_is_refused_of_a_strict_tool_and_told_of_others(form, schema, what):
    forms = forms_of(KINDS[0])
    _, (remark,) = forms.calls(form, asking(schema))
    assert remark.startswith("The tool find may be called with more than its schema allows: ")
    assert what in remark
    with pytest.raises(UsageError, match=r"^The tool find cannot be strict: .*") as refused:
        forms.calls(form, asking(schema, strict=True))
    assert what in str(refused.value)
    assert "cannot be enforced" in str(refused.value)


@by_syntax
@pytest.mark.parametrize(
    "text",
    [
        {"pattern": "(?=x)"},
        {"pattern": r"(a)\1"},
        {"pattern": "["},
        {"minLength": 3, "maxLength": 2},
    ],
)
def test_a_text_that_cannot_be_may_be_any_and_its_tool_is_not_strict(form, words, text):
    _, remarks = forms_of(words).calls(form, asking(of(text)))
    assert len(remarks) == 1
    with pytest.raises(UsageError, match="find cannot be strict"):
        forms_of(words).calls(form, asking(of(text), strict=True))


def go_on(mask, tokens, rng):
    while True:
        mask.masked(np.zeros(KINDS[0].size, np.float32), tokens)
        tokens += KINDS[0].tokens(rng.choice("abc"))


def test_a_text_that_is_too_complex_ends_an_answer_and_none_after_it(monkeypatch):
    few = LLParserLimits(verbose_errors=False, max_lexer_states=1000)
    monkeypatch.setattr("assistant.forms.grammar.LIMITS", few)
    forms, rng = forms_of(KINDS[0]), random.Random(1)
    tools = tuple(
        Tool(name, "", json.dumps(of({"pattern": pattern})))
        for name, pattern in (("odd", "(a|b)*c.{60}d"), ("find", "^a+$"))
    )
    request = Request(ASKED, tools=tools, tool_choice="required")
    mask, begun = (made := forms.calls(XML, request)[0])([], lambda context: 0), "<parameter=a>\n"
    tokens = KINDS[0].tokens(XML.opens + "odd" + XML.between + begun)
    with pytest.raises(UsageError, match="too complex"):
        go_on(mask, tokens, rng)
    call = KINDS[0].tokens(wrote(XML, ("find", spelt(XML, "aaa"))))
    assert forms.calls(XML, request)[0](call, lambda context: 0).fitting([], call) == len(call)
    assert made(call, lambda context: 0).fitting([], call) < len(call)  # the law is no luck


def test_a_tool_that_makes_no_rules_does_not_keep_others_from_being_called():
    odd = {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "array"}}}
    tools = (Tool("odd", "", json.dumps(odd)), Tool("find", "", json.dumps(of({}))))
    request = Request(ASKED, tools=tools, tool_choice="required")
    made, (remark,) = forms_of(KINDS[0]).calls(XML, request)
    assert remark.startswith("The tool odd may be called with any arguments")
    tokens = KINDS[0].tokens(wrote(XML, ("find", spelt(XML, "x")), ("odd", spelt(XML, "y"))))
    assert made(tokens, lambda context: 0).fitting([], tokens) == len(tokens)


WHOLE = {
    "type": "object",
    "properties": {
        "when": {"type": "string", "format": "date"},
        "code": {"type": "string", "pattern": "^[A-Z]{2}-|x", "minLength": 3, "maxLength": 9},
        "kind": {"type": "string", "enum": ["a", "b\n"]},
        "more": {"type": "integer", "minimum": 3, "maximum": 10**9},
        "never": False,
        "note": {"type": "string", "maxLength": 5},
    },
    "required": ["code", "when"],
    "additionalProperties": False,
}


@by_syntax
def test_whatever_is_written_of_a_strict_tool_fits_its_schema(form, words):
    """Tokens by chance, under the mask."""
    jsonschema = pytest.importorskip("jsonschema")
    right = jsonschema.Draft202012Validator(WHOLE, format_checker=jsonschema.FormatChecker())
    made, remarks = forms_of(words).calls(form, asking(WHOLE, strict=True))
    assert not remarks
    for seed in range(20):
        rng, tokens = np.random.default_rng(seed), []
        mask = made(tokens, lambda context: 0)
        while not mask.is_over:
            noise = rng.random(words.size).astype(np.float32)
            tokens.append(int(mask.masked(noise, tokens).argmax()))
        names = {number: name for name, number in words.controls.items()}
        text = "".join(
            names.get(token) or words.pieces[token].decode("latin-1") for token in tokens
        )
        text = text.encode("latin-1").decode()
        reader = XmlArguments(closed(WHOLE)) if form is XML else GemmaArguments()
        said, rest = reader.read(text.partition(form.opens + "find" + form.between)[2])
        assert rest is not None
        right.validate(json.loads(said))


@pytest.mark.parametrize("value", ["1e999", "9" * 5000, "[" * 5000, "NaN", "-0", '{"b": [1, 2]}'])
def test_what_is_read_of_a_value_in_an_element_is_json(value):
    reader = XmlArguments({"properties": {"a": {"type": "number"}}})
    said, _ = reader.read(f"<parameter=a>\n{value}\n</parameter>\n</function>")
    kept = said == f'{{"a": {value}}}'
    assert kept == (value not in ("NaN", "[" * 5000))
    assert kept or json.loads(said) == {"a": value}


@pytest.mark.parametrize("required", [3, None, [["a"]], [{}], "a"])
def test_a_schema_that_requires_nonsense_is_still_one(required):
    assert closed({"properties": {"a": {}}, "required": required})["type"] == ANY_OBJECT["type"]
    for form, words in SYNTAXES:
        forms_of(words).calls(form, asking({"properties": {"a": {}}, "required": required}))


def test_an_order_of_lengths_by_chance_is_held():
    """Long bounds are as good as short ones."""
    rng = random.Random(1)
    for form, words in SYNTAXES[:2]:
        for _ in range(5):
            least = rng.randrange(400)
            schema = of({"minLength": least, "maxLength": least + 100})
            assert allows(form, words, schema, spelt(form, "é" * (least + rng.randrange(101))))
            assert not allows(form, words, schema, spelt(form, "é" * (least + 101)))
