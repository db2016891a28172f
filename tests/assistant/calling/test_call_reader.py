"""The reader of tool calls: the same names and arguments however tokens cut the text."""

import json
import random

import pytest

from assistant.calling.reader import CallReader
from assistant.events import CallDelta
from assistant.prompt.answer_text import AnswerText
from assistant.prompt.thoughts import AnswerBeginning, find_markers
from assistant.streamed_text import TokenText
from tests.assistant.calling.tool_calls import (
    GEMMA,
    HERMES,
    LISTED,
    LLAMA,
    NAMED,
    ODD,
    PARIS,
    SCHEMAS,
    SPACED,
    XML,
    wrote,
)
from tests.assistant.prompt.prompts import token

ELEMENTS = '<parameter=city>\n"a"\n\\b</parameter\n</parameter>\n<parameter=n>\n-4\n</parameter>\n'
BRACES = 'city:<|"|>}<tool_call|>"{\\<|"|,<|"|>,n:-4'
BARE = f'{{"name": "get_weather", "parameters": {PARIS}}}'
FENCED = f'```json\n{{\n  "name": "get_weather",\n  "arguments": {PARIS}\n}}\n```'
CALLS = [("get_weather", PARIS), ("get_time", ODD), ("get_time", "{}")]
ANSWERS = [
    *((f, "Well <tool.\n", wrote(f, *CALLS), CALLS) for f in (HERMES, NAMED, LISTED, SPACED)),
    (LLAMA, "", wrote(LLAMA, CALLS[0]), CALLS[:1]),
    (LLAMA, "", f"<|python_tag|>{wrote(LLAMA, CALLS[1])}", CALLS[1:2]),
    (HERMES, "", BARE, CALLS[:1]),
    (HERMES, "", f"{{{BARE}}}", CALLS[:1]),
    (HERMES, "", f"{FENCED}\n{FENCED}", [CALLS[0]] * 2),
    (HERMES, '{"name": "get_rain", "arguments": {}}', "", []),
    (HERMES, "```json\n[]\n```", "", []),
    (
        XML,
        "ok\n",
        wrote(XML, ("get_time", ELEMENTS), ("get_time", "")),
        [("get_time", '{"city": "\\"a\\"\\n\\\\b</parameter", "n": -4}'), ("get_time", "{}")],
    ),
    (
        GEMMA,
        "ok <|\n",
        wrote(GEMMA, ("get_time", BRACES), ("get_time", "")),
        [("get_time", '{"city": "}<tool_call|>\\"{\\\\<|\\"|,", "n": -4}'), ("get_time", "{}")],
    ),
]


def cut(text, sizes):
    """Return pieces of a text."""
    pieces = []
    while text:
        size = next(sizes)
        pieces.append(text[:size])
        text = text[size:]
    return pieces


def read(form, tokens):
    """Return the text and what is written of calls; and the reader, and what it has told."""
    reader, text, written, deltas = CallReader(form, SCHEMAS), "", "", list[CallDelta]()
    for each in tokens:
        more, calls = reader.read(each)
        text, written = text + more, written + calls
        deltas += reader.drain()
    return text + reader.flush(), written, reader, deltas


@pytest.mark.parametrize(("form", "text", "call", "calls"), ANSWERS)
@pytest.mark.parametrize("longest", [1, 4, 1000])
def test_however_tokens_cut_an_answer_text_and_calls_are_the_same(form, text, call, calls, longest):
    rng = random.Random(longest)
    for _ in range(5):
        sizes = iter(lambda: rng.randint(1, longest), None)
        plain, written, reader, deltas = read(form, cut(text + call, sizes))
        found = reader.tool_calls
        assert (plain, written, reader.cut) == (text, call, "")
        assert [(each.name, each.arguments) for each in found] == calls
        for place, each in enumerate(found):
            own = [delta for delta in deltas if delta.index == place]
            assert (own[0].id, own[0].name) == (each.id, each.name)
            assert not any(delta.id or delta.name for delta in own[1:])
            assert "".join(delta.arguments for delta in own) == each.arguments
            assert isinstance(json.loads(each.arguments), dict)
        assert len({each.id for each in found}) == len(found)


@pytest.mark.parametrize("form", [HERMES, NAMED, LISTED, LLAMA])
def test_the_text_of_a_call_that_was_cut_is_not_lost(form):
    whole = wrote(form, ("get_weather", PARIS))
    end = whole.index("kelvin")
    text, _, reader, _ = read(form, cut(whole[:end], iter(lambda: 3, None)))
    assert (text + reader.cut, reader.tool_calls) == (whole[:end], ())
    if form.several:
        two = wrote(form, ("get_weather", PARIS), ("get_time", PARIS))
        _, _, reader, _ = read(form, cut(two[: two.rindex("Par")], iter(lambda: 3, None)))
        assert reader.cut == two[two.rindex(form.opens) : two.rindex("Par")]
        assert [call.name for call in reader.tool_calls] == ["get_weather"]


def test_arguments_come_as_they_are_written():
    """A client that shows them does not have to wait for the end of a call."""
    call = wrote(HERMES, ("get_time", f'{{"city": "{"long " * 50}"}}'))
    _, _, _, deltas = read(HERMES, cut(call, iter(lambda: 5, None)))
    assert len(deltas) > 40


def test_a_call_in_a_thought_is_no_call_and_a_stop_string_in_a_call_is_none():
    think = find_markers("</think>", lambda text: False)
    call = wrote(HERMES, ("get_time", "{}"))
    reader, words = CallReader(HERMES, SCHEMAS), ["<think>", call, "</think>", "So", call]
    beginning = AnswerBeginning(TokenText(lambda token: b""), think)
    answer = AnswerText(beginning, stops=("get", "So "), call_reader=reader)
    events = [each for i, word in enumerate(words) for each in answer.add(token(word, i))]
    assert [(each.id, each.part) for each in events] == [
        (0, "marker"), (1, "thought"), (2, "marker"), (3, "answer"), (4, "call")
    ]  # fmt: skip
    assert (len(reader.tool_calls), answer.stopped) == (1, False)
    assert answer.end() == ("So", call)
