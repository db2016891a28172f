"""Properties of decoded text and of prompts for random texts, cuts and conversations."""

from unittest.mock import Mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assistant.prompt.answer_text import AnswerText
from assistant.prompt.context import fit
from assistant.prompt.masking import MEANINGLESS
from assistant.prompt.prompt_tokens import ChatTokens
from assistant.prompt.thoughts import AnswerBeginning
from assistant.request import Message
from assistant.streamed_text import TokenText
from models.errors import ContextFull, ModelError
from models.native.vocab import Vocab
from tests import tiny
from tests.assistant.prompt.prompts import bytes_of, chat_of, control_count, token
from tests.patience import examples

BYTES = st.one_of(
    st.binary(max_size=30),
    st.text(max_size=12).map(str.encode),
    st.lists(
        st.sampled_from((b"\xf0\x9f\x98\x80", b"\xf0", b"\x9f", b"\xe2\x82", b"\xc3\xa9", b"a")),
        max_size=12,
    ).map(b"".join),
)


def pieces(data, cuts):
    ends = sorted(min(cut, len(data)) for cut in cuts)
    return [data[a:b] for a, b in zip([0, *ends], [*ends, len(data)], strict=True)]


@settings(max_examples=examples(600))
@given(BYTES, st.lists(st.integers(0, 40), max_size=12))
@example(b"\xed\xa0\x80\xf4\x90\x80\x80\xf5\x80\x80\x80\xc0\x80", list(range(14)))
def test_text_is_that_of_the_whole_however_its_bytes_are_cut(data, cuts):
    parts = pieces(data, cuts)
    assert TokenText(parts.__getitem__).of(range(len(parts))) == data.decode("utf-8", "replace")


LETTERS = st.text("ab\n", max_size=14)
STOPS = st.lists(st.text("ab\n", max_size=4), max_size=3)


@settings(max_examples=examples(800))
@given(LETTERS, st.lists(st.integers(0, 14), max_size=10), STOPS)
def test_stop_strings_are_never_shown_and_nothing_else_is_lost(text, cuts, strings):
    answer, shown = AnswerText(AnswerBeginning(TokenText(lambda token: b"")), stops=strings), ""
    for part in pieces(text, cuts):
        shown += "".join(each.text for each in answer.add(token(part)))
        if over := answer.stopped:
            break
    strings = [string for string in strings if string]
    if not over:
        shown += "".join(each.text for each in answer.flush())
        assert shown == text
    assert over == any(string in text for string in strings)
    assert text.startswith(shown)
    assert not any(string in shown for string in strings)
    if over:
        assert text.startswith(tuple(strings), len(shown))


def test_text_is_held_back_no_longer_than_it_may_begin_a_stop_string():
    answer = AnswerText(AnswerBeginning(TokenText(lambda token: b"")), stops=("<end>",))
    shown = ["".join(each.text for each in answer.add(token(part))) for part in ("a<e", "lse", "b")]
    assert shown == ["", "a<else", "b"]


MASK, OTHER_MASK = map(chr, MEANINGLESS[:2])
FRAGMENTS = st.sampled_from(
    (
        *(*tiny.CONTROLS, MASK, OTHER_MASK, f"{MASK}0{MASK}"),
        *("<|im_", "start|>", "|>", "<|", "end|>", "\n", " ", "user", "system", "0", "12"),
        *("{{ messages }}", "{% raw %}", "\0", "\x1b[2J", "é", "\U0001f600", "\ud800", "\u202e"),
    )
)
WRITTEN = st.one_of(st.lists(FRAGMENTS, max_size=10).map("".join), st.text(max_size=20))


@pytest.fixture(scope="module", name="tiny_chat")
def opened(tmp_path_factory):
    with chat_of(tmp_path_factory.mktemp("tiny")) as found:
        yield found


@settings(max_examples=examples(200))
@given(texts=st.lists(WRITTEN, min_size=1, max_size=6))
def test_a_prompt_has_the_control_tokens_of_its_template_and_the_bytes_of_texts(tiny_chat, texts):
    """Answers keep the tokens they were decoded as."""
    vocab, chat = tiny_chat
    messages = [Message("system", texts[0])]
    for i, text in enumerate(texts):
        messages += [Message("user", text), Message("assistant", "?", (65 + i, 66, 67))]
    tokens = chat.encode([*messages, Message("assistant", texts[-1]), Message("user", "end")])
    assert control_count(vocab, tokens) == 2 * (len(messages) + 2) + 1
    rest = bytes_of(vocab, tokens)
    for i, text in enumerate(texts):
        turn = text.encode("utf-8", "replace") + b"\nassistant\n" + bytes((65 + i, 66, 67))
        assert turn in rest
        rest = rest[rest.index(turn) :]
    assert b"assistant\n" + texts[-1].encode("utf-8", "replace") in rest


ROLES = st.sampled_from(("user", "assistant", "user"))
TURNS = st.lists(st.tuples(ROLES, st.integers(0, 60)), max_size=12)


@settings(max_examples=examples(500))
@given(st.none() | st.integers(0, 30), TURNS, st.integers(0, 60), st.integers(0, 200))
def test_a_prompt_fits_and_keeps_the_system_prompt_and_the_question(system, turns, last, room):
    def encode(messages):
        """One token a character of content, one a message, and one to ask."""
        codes = [[ord(message.role[0]), *map(ord, message.content)] for message in messages]
        return [code for each in codes for code in each] + [0]

    messages = [] if system is None else [Message("system", "S" * system)]
    letters = map(chr, range(200, 300))
    messages += [Message(role, next(letters) * size) for role, size in turns]
    messages.append(Message("user", "?" * last))
    first = messages[: system is not None]
    least = len(encode([*first, messages[-1]]))
    try:
        tokens, dropped = fit(messages, encode, room)
    except ContextFull:
        assert least > room
        return
    assert least <= len(tokens) <= room
    assert dropped == 0 or len(encode(messages)) > room
    head, end = encode(first)[:-1], encode([messages[-1]])
    assert tokens[: len(head)] == head
    assert tokens[-len(end) :] == end
    assert (dropped == 0) == (tokens == encode(messages))
    kept = tokens[len(head) :]
    assert any(kept == encode(messages[i:]) for i in range(len(first), len(messages)))


def test_a_vocabulary_that_yields_no_tokens_is_refused():
    lacks = dict.fromkeys(("template", "bos", "piece")) | {"bos_text": "", "eos_text": ""}
    vocab = Mock(Vocab, **lacks, controls={}, tokenize=lambda text: [])
    with pytest.raises(ModelError, match="no tokens"):
        ChatTokens(vocab).encode([Message("user", "Why?")])
