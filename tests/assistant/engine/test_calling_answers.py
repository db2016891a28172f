"""Answers that call tools, of tiny models whose tokens are random."""

import json

import pytest

from assistant.engine.control import Control
from assistant.events import Decoded, Stop, Warned
from assistant.request import Message, Request, Sampling, Tool
from models.errors import UsageError
from tests import tiny
from tests.assistant.engine.answering import answer, end, tokens
from tests.assistant.prompt.prompts import STRINGS, template

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 6}, "unit": {"enum": ["c", "f"]}},
    "required": ["city", "unit"],
    "additionalProperties": False,
}
WEATHER = Tool("get_weather", "Of a city.", json.dumps(SCHEMA))
LOUD = Sampling(1.0, 0, 1.0)


@pytest.fixture
def assistant(tmp_path, tiny_draft, opened):
    path = tiny.write(tmp_path / "target.gguf", template=template(), stops=False)
    return opened(path, tiny_draft)


def ask(assistant, choice="required", mode="sps", lookahead=6, **options):
    options = {"sampling": LOUD, "max_tokens": 200, "parallel_calls": False, **options}
    messages = options.pop("messages", (Message("user", "?"),))
    decoding = {"mode": mode, "lookahead": lookahead}
    request = Request(messages, tools=(WEATHER,), tool_choice=choice, **decoding, **options)
    return answer(assistant, request)


def fits(call):
    values = json.loads(call.arguments)
    assert list(values) == ["city", "unit"]
    assert isinstance(values["city"], str)
    assert len(values["city"]) <= 6
    assert values["unit"] in {"c", "f"}
    return call.name == "get_weather" and call.id.startswith("call_")


@pytest.mark.parametrize("mode", ["ars", "sps"])
@pytest.mark.parametrize("sampling", [Sampling(0), LOUD, Sampling(1.5, 5, 0.9, 0.05, 1.3)])
def test_a_call_fits_its_tool_whatever_the_model_would_say(assistant, mode, sampling):
    for _ in range(3):
        events = ask(assistant, mode=mode, sampling=sampling)
        over = end(events)
        assert (over.stop, over.complete, over.text) == (Stop.STOP_TOKEN, True, "")
        assert all(map(fits, over.tool_calls))
        assert len(over.tool_calls) == 1
        assert {token.part for token in tokens(events)} == {"call"}
        rounds = [event for event in events if isinstance(event, Decoded)]
        first, *others = [delta for round_ in rounds for delta in round_.tool_calls]
        assert (first.name, first.id) == ("get_weather", over.tool_calls[0].id)
        assert "".join(each.arguments for each in others) == over.tool_calls[0].arguments


def test_calls_may_follow_one_another_and_a_stop_string_is_none_within_them(assistant):
    over = end(ask(assistant, parallel_calls=True, max_tokens=400, stop_strings=("city", "name")))
    assert len(over.tool_calls) > 1
    assert all(map(fits, over.tool_calls))


def test_a_call_that_is_cut_is_kept_as_text_and_one_continued_becomes_whole(assistant):
    over = end(ask(assistant, max_tokens=60))
    assert (over.stop, over.complete, over.tool_calls) == (Stop.LENGTH, False, ())
    assert over.text.startswith('<tool_call>\n{"name": "get_weather", "arguments": {"city": "')
    begun = Message("assistant", over.text, over.token_ids)
    more = end(ask(assistant, messages=(Message("user", "?"), begun), max_tokens=3))
    text = b"".join(map(assistant.vocab.piece, over.token_ids + more.token_ids)).decode()
    assert (over.text + more.text, more.complete, more.tool_calls) == (text, False, ())
    begun = Message("assistant", text, over.token_ids + more.token_ids)
    rest = end(ask(assistant, messages=(Message("user", "?"), begun)))
    assert (rest.text, rest.complete) == ("", True)
    assert fits(rest.tool_calls[0])


def test_an_answer_continued_within_a_later_call_keeps_those_before_it(assistant):
    whole = end(ask(assistant, parallel_calls=True, max_tokens=400, stop_strings=()))
    text = b"".join(map(assistant.vocab.piece, whole.token_ids)).decode()
    cut = text.index("<tool_call>", 1) + 40  # in bytes, each of which is a token
    first, *_ = whole.tool_calls
    begun = Message("assistant", text[cut - 40 : cut], whole.token_ids[:cut], tool_calls=(first,))
    rest = end(ask(assistant, messages=(Message("user", "?"), begun), parallel_calls=True))
    assert rest.tool_calls[0] == first
    assert len(rest.tool_calls) > 1
    assert all(map(fits, rest.tool_calls[1:]))


def test_without_calls_a_text_is_what_it_is_without_tools(assistant):
    for choice in ("auto", "none"):
        over = end(ask(assistant, choice, max_tokens=40, seed=1))
        assert (len(over.token_ids), over.tool_calls, over.stop) == (40, (), Stop.LENGTH)


@pytest.mark.parametrize("mode", ["ars", "sps"])
def test_calls_in_gemmas_syntax_fit_and_end_where_it_waits_for_results(tmp_path, opened, mode):
    names = (*tiny.CONTROLS, "<|tool_call>", "<tool_call|>", '<|"|>', "<|tool_response>")
    path = tiny.write(tmp_path / "g.gguf", template=template(call=STRINGS), controls=names)
    assistant = opened(path)
    switch = {"type": ["boolean", "null"]}
    schema = {"properties": {"unit": {"enum": ["c", "f"]}, "n": switch}, "required": ["unit"]}
    tools = (Tool("get", "", json.dumps(schema)),)
    request = Request(
        (Message("user", "?"),), mode=mode, sampling=LOUD, tools=tools, tool_choice="required"
    )
    over = end([*assistant.reply(request, Control(mode, 4))])
    assert (over.stop, over.complete, over.text) == (Stop.STOP_TOKEN, True, "")
    for call in over.tool_calls:
        values = json.loads(call.arguments)
        assert values.pop("unit") in {"c", "f"}
        assert values.get("n") in {True, False, None}
    assert assistant.vocab.controls["<|tool_response>"] in assistant.vocab.stop_tokens


def test_unusable_tools_are_refused_and_unenforceable_ones_warned_of(assistant):
    asked = (Message("user", "?"),)
    with pytest.raises(UsageError, match="a call is required"):
        Request(asked, tool_choice="required")
    for names in (("a b",), ("",), ("x", "x"), ("y" * 129,)):
        with pytest.raises(UsageError, match="tools must have names"):
            Request(asked, tools=tuple(Tool(name, "", "{}") for name in names))
    odd = Tool("odd", "", '{"type": "object", "properties": {"a": {"not": {}}}}')
    request = Request(asked, tools=(odd,), max_tokens=2)
    remarks = [e.text for e in assistant.reply(request, Control()) if isinstance(e, Warned)]
    assert any("odd may be called" in remark for remark in remarks)
