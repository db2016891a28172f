"""Tools in prompts: as the template writes them, else in words; never as control tokens."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.calling.formats import FORMATS, HERMES
from assistant.prompt.prompt_tokens import NO_TOOLS, ChatTokens
from assistant.request import Message, Request, Tool, ToolCall
from tests import tiny
from tests.assistant.prompt.prompts import (
    CALLED,
    STRINGS,
    bytes_of,
    chat_of,
    control_count,
    template,
)

LISTED = '{"name": "' + CALLED % '", "arguments": ' + "}"
ELEMENTS = (
    "<tool_call>\n<function={{ c.function.name }}>\n"
    "{% for k, v in c.function.arguments | items %}"
    "<parameter={{ k }}>\n{{ v }}\n</parameter>\n{% endfor %}</function>\n</tool_call>"
)
# As Gemma 4's it writes results with their calls or not at all, before the text; and a text after
# results ends the turn, whereupon none begins.
WITH_CALLS = (
    "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}"
    "{% for m in messages %}{% if m.role != 'tool' %}<|turn>{{ m.role }}\n"
    f"{{% for c in m.tool_calls or [] %}}{STRINGS}{{% endfor %}}{{% if m.tool_calls %}}"
    "{% for r in messages if r.tool_call_id == m.tool_calls[0].id %}{{ r.content }}{% endfor %}"
    "{% endif %}{{ m.content }}{% if not m.tool_calls or m.content %}<turn|>\n{% endif %}"
    "{% endif %}{% endfor %}"
    "{% if messages[-1].role == 'user' %}<|turn>model\n{% endif %}"
)
# It wants to see calls before results, as Mistral's templates do.
STRICT = (
    "{% if not loop.previtem.tool_calls %}{{ raise_exception('no') }}{% endif %}{{ m.content }}"
)
KNOWN = [
    (HERMES, template()),
    (FORMATS[1], template(call=ELEMENTS)),
    (FORMATS[2], template(call="[TOOL_CALLS]" + CALLED % "[ARGS]")),
    (FORMATS[3], template("[TOOL_CALLS][", LISTED, ", ", "]")),
    (FORMATS[4], template("[TOOL_CALLS] [", LISTED, ", ", "]")),
    (FORMATS[5], template(call=LISTED.replace('"arguments', '"parameters'))),
    (FORMATS[6], template(call=STRINGS)),
    (FORMATS[6], WITH_CALLS),
]
UNKNOWN = [
    tiny.TEMPLATE,
    template(call="{{ c.function | tojson }}"),
    template(call="{{ c.function.arguments + '' }}"),
    template(result=""),
    template().replace("{{ t | tojson }}", ""),
]
WEATHER = Tool("get_weather", "Of a city.", '{"type": "object", "properties": {"city": {}}}')
CALL = ToolCall("get_weather", '{"city": "Zo\\u00eb"}', "call_abcdefghi")
ASKED = Message("user", "How is it?")
ANSWER = Message("assistant", "So.", tool_calls=(CALL,))
RESULT = Message("tool", "It is 17 degrees.", call_id=CALL.id)
CONVERSATION = [Message("system", "Be brief."), ASKED, ANSWER, RESULT]


@pytest.mark.parametrize(("form", "source"), KNOWN)
def test_a_format_is_known_by_what_the_template_writes(tmp_path, form, source):
    with chat_of(tmp_path, source) as (vocab, chat):
        text = bytes_of(vocab, chat.encode(CONVERSATION, tools=[WEATHER])).decode()
        assert (chat.call_format, chat.tools_in_words) == (form, False)
        assert list(chat.warnings(Request((ASKED,), tools=(WEATHER,)))) == []
        assert text.count("get_weather") == 2
        for part in ("Of a city.", "Be brief.", "How is it?", "Zoë", RESULT.content):
            assert text.count(part) == 1
        assert "# Tools" not in text


@pytest.mark.parametrize("source", UNKNOWN)
def test_tools_are_put_in_words_where_the_template_loses_anything_of_them(tmp_path, source):
    with chat_of(tmp_path, source) as (vocab, chat):
        text = bytes_of(vocab, chat.encode(CONVERSATION, tools=[WEATHER])).decode()
        assert (chat.call_format, chat.tools_in_words) == (HERMES, True)
        assert NO_TOOLS in chat.warnings(Request((ASKED,), tools=(WEATHER,)))
        for part in ("Of a city.", "Be brief.", "How is it?", "Zoë", RESULT.content, "So."):
            assert text.count(part) == 1
        assert '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zoë"}}' in text
        two = [*CONVERSATION, Message("tool", "Or 18.", call_id="x")]
        again = bytes_of(vocab, chat.encode(two, tools=[WEATHER])).decode()
        assert "</tool_response>\n<tool_response>" in again
        plain = bytes_of(vocab, chat.encode([ASKED])).decode()
        assert "tool" not in plain


@pytest.mark.parametrize("source", [KNOWN[0][1], KNOWN[3][1], tiny.TEMPLATE])
def test_a_round_of_calls_adds_to_the_end_of_the_prompt_alone(tmp_path, source):
    with chat_of(tmp_path, source) as (vocab, chat):
        before = chat.encode([ASKED], tools=[WEATHER])
        answer = replace(ANSWER, token_ids=tuple(vocab.tokenize("so, as it  was decoded")))
        after = chat.encode([ASKED, answer, RESULT], tools=[WEATHER])
        begun = [*before, *answer.token_ids]
        assert after[: len(begun)] == begun
        assert b"17 degrees" in bytes_of(vocab, after[len(begun) :])


def test_a_template_that_wants_calls_before_results_is_given_them(tmp_path):
    with chat_of(tmp_path, template(result=STRICT)) as (vocab, chat):
        answer = replace(ANSWER, token_ids=(65, 66))
        text = bytes_of(vocab, chat.encode([ASKED, answer, RESULT], tools=[WEATHER])).decode()
        assert not chat.tools_in_words
        assert "<tool_call>" in text
        assert "17 degrees" in text


def test_a_template_that_writes_results_with_calls_alone_loses_none(tmp_path):
    names = ("<|tool_call>", "<tool_call|>", '<|"|>', "<|turn>", "<turn|>")
    with chat_of(tmp_path, WITH_CALLS, controls=(*tiny.CONTROLS, *names)) as (vocab, chat):

        def rendered(*messages):
            tokens = chat.encode([ASKED, *messages], tools=[WEATHER])
            spelt = (vocab.piece(each) or vocab.text(each).encode() for each in tokens)
            return b"".join(spelt).decode()

        answer = replace(ANSWER, content="", token_ids=(65, 66))
        known = replace(ANSWER, content="17.", tool_calls=(), token_ids=tuple(vocab.tokenize("CD")))
        earlier = rendered(answer, RESULT, known, ASKED)
        assert (earlier.count(RESULT.content), earlier.count("CD<turn|>")) == (1, 1)
        assert earlier.count("<|turn>model") == 1
        assert rendered(answer, RESULT).endswith(RESULT.content)
        assert rendered(ANSWER, RESULT).endswith("So.<turn|>\n<|turn>model\n")


def test_ids_are_what_mistral_s_templates_take_and_names_come_with_results(tmp_path):
    source = template(result="{{ m.tool_call_id }} {{ m.name }} {{ m.content }}")
    with chat_of(tmp_path, source) as (vocab, chat):
        text = bytes_of(vocab, chat.encode(CONVERSATION, tools=[WEATHER])).decode()
        assert "abcdefghi get_weather It is" in text
        odd = [
            replace(ANSWER, tool_calls=(replace(CALL, id="<|é|>"),)),
            replace(RESULT, call_id="<|é|>"),
        ]
        text = bytes_of(vocab, chat.encode([ASKED, *odd], tools=[WEATHER])).decode()
        assert text.partition(" get_weather It is")[0][-9:].isalnum()


CONTROLS = (*tiny.CONTROLS, "[TOOL_CALLS]", '<|"|>', "<tool_response>", "</a\n>")
PIECES = st.sampled_from(
    [*CONTROLS, "a", '"', "\\", "{", "}", "\ue000", "0", "\\u003c", "</tool_response>"]
)
TEXTS = st.lists(PIECES, max_size=5).map("".join)
BROKEN = st.one_of(TEXTS, TEXTS.map(json.dumps), TEXTS.map(lambda t: json.dumps({t: [t]})))


@pytest.mark.parametrize("source", [template(), tiny.TEMPLATE])
def test_nothing_of_tools_their_calls_or_results_becomes_a_control_token(tmp_path, source):
    with chat_of(tmp_path, source, controls=CONTROLS) as (vocab, chat):

        def conversation(text, part):
            call = ToolCall(f"get{text}", part, f"id{text}")
            tool = Tool("get_it", f"x{text}", part)
            result = Message("tool", f"r{text}", call_id=f"id{text}")
            asked = Message("user", f"q{text}")
            answer = Message("assistant", f"c{text}", tool_calls=(call,))
            return chat.encode([asked, answer, result], tools=[tool])

        plain = control_count(vocab, conversation("", "{}"))

        @settings(max_examples=150, deadline=None)
        @given(TEXTS, BROKEN)
        def law(text, part):
            tokens = conversation(text, part)
            assert control_count(vocab, tokens) == plain
            assert f"r{text}\n</tool_response>".encode() in bytes_of(vocab, tokens) or (
                source == template() and f"r{text}".encode() in bytes_of(vocab, tokens)
            )

        law()


@pytest.mark.weights
def test_no_text_has_a_tag_of_calls_as_a_token(real_vocab):
    """Some vocabularies have such tags as tokens that are text."""
    chat = ChatTokens(real_vocab)
    for tag in ("<tool_call>", "</tool_call>", "</tool_response>"):
        result = replace(RESULT, content=f"x{tag}y")
        clean = chat.encode(CONVERSATION, tools=[WEATHER])
        tokens = chat.encode([*CONVERSATION[:-1], result], tools=[WEATHER])
        assert f"x{tag}y".encode() in bytes_of(real_vocab, tokens)
        if len(whole := real_vocab.tokenize(tag)) == 1:
            assert tokens.count(whole[0]) == clean.count(whole[0])
