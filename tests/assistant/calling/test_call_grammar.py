"""The grammar of answers that may call tools, in the format of each model family."""

import json
from dataclasses import replace

import pytest

from assistant.calling.arguments import closed
from assistant.request import Constraint, Tool
from models.errors import UsageError
from tests.assistant.calling.tool_calls import (
    HERMES,
    LISTED,
    LLAMA,
    NAMED,
    ODD,
    PARIS,
    SPACED,
    TOOLS,
    XML,
    asking,
    calls,
    fits,
    wrote,
)
from tests.assistant.constraints.word_vocabulary import WordVocabulary

NAMES = ("[TOOL_CALLS]", "[ARGS]", "<|python_tag|>", "<think>", "</think>")
WORDS = WordVocabulary(*('{"a": 1}', '"}', '", "', "<tool", "}\n</", "```", "\n\n"), controls=NAMES)
OK = Constraint("schema", '{"type": "object", "properties": {"ok": {"type": "boolean"}}}')
by_every_format = pytest.mark.parametrize("form", [HERMES, NAMED, LISTED, SPACED, LLAMA])


def read(form, text, choice="auto", tools=TOOLS, several=True, asked=None, thought=None):
    """Return how much of a text may be an answer, and whether that is whole."""
    request = asking(*tools, choice=choice, parallel_calls=several, constraint=asked)
    return fits(WORDS, form, request, text, thought_markers=thought, thinks=thought is not None)


WHOLE, BEGUN, WRONG = (True, True), (True, False), (False, False)


@by_every_format
def test_calls_fit_their_tools_and_nothing_else_does(form):
    paris, rome = ("get_weather", PARIS), ("get_time", '{"city": "Rome", "n": 3}')
    for choice in ("auto", "required"):
        assert read(form, wrote(form, paris), choice) == WHOLE
        assert read(form, wrote(form, ("get_time", ODD)), choice) == WHOLE
        assert read(form, wrote(form, ("get_time", "{}")), choice) == WHOLE
        for several in (True, False):
            two = read(form, wrote(form, paris, rome), choice, several=several)
            assert two == (WHOLE if several and form.several else WRONG)
        for name, written in [
            ("get_rain", PARIS),
            ("get_weather", '{"city": "Paris"}'),
            ("get_weather", PARIS.replace("kelvin", "F")),
            ("get_time", '{"n": 0.5}'),
            ("get_time", '{"town": "Rome"}'),
            ("get_time", "[]"),
        ]:
            if choice == "required" or form is not LLAMA:
                assert read(form, wrote(form, (name, written)), choice) == WRONG
    if form.closes + form.after:
        assert read(form, wrote(form, paris)[:-1]) == BEGUN
    assert read(form, f"{wrote(form, paris)} There.") == WRONG


@pytest.mark.parametrize(
    "more",
    [{"additionalProperties": {}}, {"anyOf": []}, {"$ref": "#/a"}, {"patternProperties": {}}],
)
def test_a_tool_is_given_what_its_schema_names_unless_that_says_more(more):
    named: dict[str, object] = {"properties": {"a": {}}}
    assert closed(named)["additionalProperties"] is False
    assert closed(named | more).get("additionalProperties") is not False


@by_every_format
def test_text_is_free_until_a_call_begins_unless_there_must_or_must_not_be_one(form):
    call = wrote(form, ("get_weather", PARIS))
    for text in ("", "Hello. é漢", '{"name": "Bob"}', "```json\n[1]\n```", "<tool_ call>"):
        assert read(form, text, "auto") == WHOLE
        assert read(form, text, "none") == WHOLE
        assert read(form, text, "required") == (BEGUN if not text else WRONG)
    if form is not LLAMA:
        assert read(form, f"Let me see.\n{call}", "auto") == WHOLE
        assert read(form, f"Let me see.\n{call}", "required") == WRONG
        assert read(form, f"Let me see.\n{call}", "none") == WRONG
    assert read(form, call, "none") == WRONG


def test_calls_of_some_models_may_be_bare_json():
    bare = f'{{"name": "get_weather", "parameters": {PARIS}}}'
    spread = f'```json\n{{\n  "name": "get_weather",\n  "arguments": {PARIS}\n}}\n```'
    for form in (HERMES, LLAMA):
        for text in (bare, spread, f"{{{bare}}}", f'{{"type": "function", {bare[1:]}'):
            assert read(form, text) == WHOLE
            assert read(form, text, "none") == WRONG
            assert read(form, text.replace("kelvin", "F")) == WRONG
            assert read(form, text.replace("get_weather", "get_rain")) == WHOLE
            assert read(form, f"{text}\n{text}") == (WHOLE if form.several else WRONG)
        assert read(form, bare, "required") == (WHOLE if form is LLAMA else WRONG)
    assert read(LLAMA, f"<|python_tag|>{bare}") == WHOLE
    assert read(NAMED, bare.replace("kelvin", "F")) == WHOLE


def test_the_tokens_of_a_call_that_must_follow_are_proposed_up_to_a_control_token():
    trigger, between = (WORDS.controls[name] for name in ("[TOOL_CALLS]", "[ARGS]"))
    mask, _ = calls(WORDS, NAMED, asking(TOOLS[0]))
    assert (mask.only_token([]), list(mask.fixed_text_tokens([]))) == (trigger, [])
    name = WORDS.tokens("get_weather")
    assert list(mask.fixed_text_tokens([trigger])) == name
    assert mask.only_token([trigger, *name]) == between


def element(name, text):
    return f"<parameter={name}>\n{text}\n</parameter>\n"


def test_arguments_in_xml_fit_their_tools():
    city, unit = element("city", 'Par\n"is"<b>'), element("unit", '"kelvin"')
    for written, found in [
        (("get_weather", city + unit), WHOLE),
        (("get_weather", city), WRONG),
        (("get_weather", city + element("unit", '"F"')), WRONG),
        (("get_time", city + element("n", "4")), WHOLE),
        (("get_time", element("n", "4")), WHOLE),
        (("get_time", element("n", "four")), WRONG),
        (("get_time", ""), WHOLE),
        (("get_time", element("town", "x")), WRONG),
    ]:
        assert read(XML, wrote(XML, written), "required") == found
    assert read(XML, f"So.\n{wrote(XML, ('get_time', ''), ('get_time', city))}") == WHOLE


def test_a_thought_may_come_first_and_what_is_in_it_is_free():
    call = wrote(HERMES, ("get_weather", PARIS))
    for thought in (("<think>", "</think>"), ("[think]\n", "[/think]")):
        text = f"{thought[0]}Shall I <tool_call> \n{{}} or not?{thought[1]}"
        for choice in ("auto", "required"):
            assert read(HERMES, f"{text}\n\n{call}", choice, thought=thought) == WHOLE
            assert read(HERMES, call, choice, thought=thought) == WHOLE
        assert read(HERMES, f"{text}No.", thought=thought) == WHOLE
        assert read(HERMES, f"{text}No.", "required", thought=thought) == WRONG


def test_an_answer_with_a_form_has_it_or_is_calls():
    call = wrote(HERMES, ("get_weather", PARIS))
    for form, text in [
        (OK, '{"ok": true}'),
        (Constraint("regex", "o+k"), "oook"),
        (Constraint("grammar", 'root ::= "o" "k"'), "ok"),
    ]:
        assert read(HERMES, text, asked=form) == WHOLE
        assert read(HERMES, call, asked=form) == WHOLE
        assert read(HERMES, "Hello.", asked=form) == WRONG
        assert read(HERMES, text, "required", asked=form) == WRONG
        assert read(HERMES, call, "none", asked=form) == WRONG


@pytest.mark.parametrize(
    ("schema", "remark", "arguments"),
    [
        ({"properties": {"a": {"type": "array", "uniqueItems": True}}}, "uniqueItems", '{"a": []}'),
        ({"properties": {"a": {"type": "string", "pattern": "(?=x)"}}}, "look-ahead", '{"b": 1}'),
        ({"$ref": "#"}, "circular references", '{"b": 1}'),
        ({"$ref": "http://127.0.0.1:9/x.json"}, "another file", '{"b": 1}'),
        ({"type": "array"}, "not the schema of an object", '{"b": 1}'),
        ("no schema", "not the schema of an object", '{"b": 1}'),
        pytest.param('{"minimum": 1' + "0" * 5000 + "}", "not the schema", '{"b": 1}', id="long"),
        ({"properties": {"a": {"minimum": -(10**300)}}}, "more than 64 bits", '{"b": 1}'),
        ({"required": ["b"], "properties": {}}, "", '{"b": 1}'),
    ],
)
def test_a_keyword_that_cannot_be_enforced_is_left_out_with_a_warning(schema, remark, arguments):
    tools = (Tool("odd", "", schema if isinstance(schema, str) else json.dumps(schema)),)
    _, remarks = calls(WORDS, HERMES, asking(*tools, choice="auto"))
    assert remark in " ".join(remarks)
    assert len(remarks) == bool(remark)
    assert read(HERMES, wrote(HERMES, ("odd", arguments)), tools=tools) == WHOLE
    assert read(HERMES, wrote(HERMES, ("odd", "1")), tools=tools) == WRONG


def test_tools_that_are_too_large_together_are_refused_with_the_largest_and_fewer_are_not():
    def tool(i, count):
        named = {f"property {n} of {i}": {"type": "string"} for n in range(count)}
        return Tool(f"tool_{i}", "", json.dumps({"properties": named}))

    tools = tuple(tool(i, 120 if i == 7 else 100) for i in range(128))
    request = asking(*tools, choice="auto")
    with pytest.raises(UsageError, match=r"of these tools .* too large.*: tool_7, with"):
        calls(WORDS, HERMES, request)
    assert calls(WORDS, HERMES, replace(request, tools=tools[:4]))[1] == []
