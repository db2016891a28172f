"""`ChatTokens`: what a user typed stays text, whatever it looks like."""

import tempfile
from pathlib import Path
from unittest.mock import Mock

import llama_cpp.llama_cpp as llama
import pytest

from assistant.prompt.prompt_tokens import ChatTokens
from assistant.request import Message
from models.native.vocab import Vocab
from tests import tiny
from tests.assistant.prompt.prompts import bytes_of, chat_of, control_count


def typed(text: str) -> list[Message]:
    """Return a conversation in which everybody typed `text`."""
    return [
        Message("system", f"S{text}S"),
        Message("user", f"a{text}"),
        Message("assistant", f"{text}b"),
        Message("user", f"x{text}{text}y"),
    ]


def whole_string(vocab: Vocab, text: str) -> list[int]:
    """Tokenise as most programs do, control tokens and all."""
    data = text.encode()
    tokens = (llama.llama_token * (len(data) + 8))()
    count = llama.llama_tokenize(vocab._vocab, data, len(data), tokens, len(tokens), False, True)
    return list(tokens[:count])


def check_injection(vocab: Vocab, chat: ChatTokens, text: str) -> None:
    harmless, tokens = chat.encode(typed("harmless")), chat.encode(typed(text))
    assert control_count(vocab, tokens) == control_count(vocab, harmless), text
    spoken = bytes_of(vocab, tokens)
    for message in typed(text):
        assert message.content.encode() in spoken, text


def test_no_control_text_in_a_message_becomes_a_control_token():
    with tempfile.TemporaryDirectory() as folder:
        controls = (*tiny.CONTROLS, "<|a|>", "<|a|><|b|>", "[INST]", "</s>", "<a.b*c>")
        with chat_of(Path(folder), controls=controls) as (vocab, chat):
            assert set(controls) == set(vocab.controls)
            for text in controls:
                check_injection(vocab, chat, text)


def test_every_private_use_character_at_once_is_just_text(tiny_vocab):
    text = "".join(map(chr, (*range(0xE000, 0xF900), *range(0xF0000, 0xFFFFE))))
    tokens = ChatTokens(tiny_vocab).encode([Message("user", text)])
    assert text.encode() in bytes_of(tiny_vocab, tokens)


@pytest.mark.weights
def test_no_control_text_of_a_real_vocabulary_becomes_a_control_token(real_vocab):
    """In all places at once, and in pairs that might become another one."""
    names = [text for text in real_vocab.controls if "unused" not in text][:60]
    assert len(names) >= 3
    chat = ChatTokens(real_vocab)
    for name in names:
        check_injection(real_vocab, chat, name)
        check_injection(real_vocab, chat, f"{name[:-1]}{names[0]}{name[-1:]}")
    check_injection(real_vocab, chat, "".join(names))


@pytest.mark.weights
def test_clean_conversations_tokenise_as_the_whole_string_does(real_vocab):
    chat = ChatTokens(real_vocab)
    for text in ("def f(x):\n    return x\n", "¿qué? 漢字 😀", "  two  spaces  ", "1\n\n\n2"):
        messages = typed(text)
        tokens = chat.encode(messages)
        if chat.template.warning is None:
            rendered = whole_string(real_vocab, chat.template.render(messages))
            assert tokens == rendered or tokens == [real_vocab.bos, *rendered]


BOS = tiny.CONTROLS[0]
STARTS = ["", "\n", BOS, f"\n{BOS}", f" {BOS}", BOS * 2, f"{BOS}\n{BOS}", f"{BOS} "]


@pytest.mark.parametrize("added", [True, False, None])
@pytest.mark.parametrize("written", [*STARTS, "\n {{ bos_token }}"])
def test_a_prompt_begins_with_one_start_token_whatever_its_template(tmp_path, written, added):
    """And with none that neither the template nor the vocabulary wants; what is typed is text."""
    with chat_of(tmp_path, written + "{{ messages[0].content }}", bos=added) as (vocab, chat):
        tokens = chat.encode([Message("user", f"{BOS}x")])
        assert tokens.count(256) == (bool(written.strip()) or added is True)
        assert 256 not in tokens[1:]
        assert bytes_of(vocab, tokens).lstrip() == f"{BOS}x".encode()


def test_a_mark_that_begins_texts_and_is_no_control_token_is_not_spelt_out_as_well():
    vocab = Mock(
        Vocab, template="\n<s>{{ messages[0].content }}", controls={}, bos=1000,
        bos_text="<s>", eos_text="", piece=None, tokenize=lambda text: [*text.encode()],
    )  # fmt: skip
    assert ChatTokens(vocab).encode([Message("user", "<s>a")]) == [1000, *b"<s>a"]


@pytest.mark.parametrize("as_tokens", [True, False])
def test_thought_marks_that_were_typed_said_or_returned_by_a_tool_stay_text(tmp_path, as_tokens):
    """Also where the vocabulary has tokens for them, and where the template cuts answers there."""
    template = (
        "{% for m in messages %}{{ m.role }}:{% if m.role == 'assistant' %}"
        "{{ m.content.split('</think>')[-1] }}{% else %}{{ m.content }}{% endif %};{% endfor %}"
    )
    words = ("<think>", "</think>") if as_tokens else ()
    with chat_of(tmp_path, template, words=words) as (vocab, chat):
        assert chat.thinking.thinks
        told = [
            Message("user", "what is <think>?"),
            Message("assistant", "Write <think>a</think> so.", (1, 2)),
            Message("tool", "log: </think> <think>"),
            Message("user", "<think>"),
        ]
        tokens = chat.encode(told)
        spoken = bytes_of(vocab, tokens).decode()
        assert all(message.content in spoken for message in told)
        assert not {*tokens} & {vocab.size - 1, vocab.size - 2} or not as_tokens


def test_an_answer_with_reasoning_goes_through_the_template(tmp_path):
    template = (
        "{% for m in messages %}{{ m.role }}:{{ m.content.split('</think>')[-1] }};{% endfor %}"
    )
    with chat_of(tmp_path, template) as (vocab, chat):
        thought = tuple(vocab.tokenize("<think>x</think>y"))
        for text, ids in (("<think>x</think>y", (1, 2, 3)), ("y", thought)):
            answer = Message("assistant", text, ids)
            tokens = chat.encode([Message("user", "q"), answer, Message("user", "r")])
            assert bytes_of(vocab, tokens) == b"user:q;assistant:y;user:r;"


def test_answers_that_a_template_wants_joined_keep_their_tokens(tmp_path):
    template = (
        "{% for m in messages %}{% if not loop.first and loop.previtem.role == m.role %}"
        "{{ raise_exception('in turn') }}{% endif %}{{ m.content }}{% endfor %}"
    )
    with chat_of(tmp_path, template) as (vocab, chat):
        first, second = Message("assistant", "a", (5, 6)), Message("assistant", "b", (7,))
        tokens = chat.encode([Message("user", "q"), first, second, Message("user", "r")])
        q, gap, r = map(vocab.tokenize, ("q", "\n\n", "r"))
        assert tokens == [*q, 5, 6, *gap, 7, *r]


def test_a_template_that_edits_contents_keeps_controls_out_and_answers_in(tmp_path):
    template = (
        "{% for m in messages %}<|im_start|>{{ m.content | trim | replace('a', 'A') | title }}"
        "<|im_end|>{% endfor %}"
    )
    answer = Message("assistant", "zz", (5, 6))
    with chat_of(tmp_path, template) as (vocab, chat):
        tokens = chat.encode([Message("user", "  <|im_end|> "), answer, Message("user", "Q")])
        assert control_count(vocab, tokens) == 6
        assert b"<|im_end|>" in bytes_of(vocab, tokens)
        start, end = vocab.controls["<|im_start|>"], vocab.controls["<|im_end|>"]
        assert [start, 5, 6, end] == tokens[tokens.index(5) - 1 : tokens.index(6) + 2]


@pytest.mark.parametrize("edit", ["reverse", "length", "truncate(3, true)"])
def test_a_template_that_breaks_what_stands_for_a_control_text_never_fails(tmp_path, edit):
    template = f"{{% for m in messages %}}<|im_start|>{{{{ m.content | {edit} }}}}{{% endfor %}}"
    answer = Message("assistant", "a", (1,))
    with chat_of(tmp_path, template) as (vocab, chat):
        tokens = chat.encode([Message("user", "<|im_end|>" * 5), answer, Message("user", "q")])
        assert vocab.controls["<|im_end|>"] not in tokens or chat.template.warning


def test_a_template_that_writes_the_mask_itself_never_fails(tmp_path):
    template = "\ue000answer 7\ue000\ue0009\ue000{% for m in messages %}{{ m.content }}{% endfor %}"
    with chat_of(tmp_path, template) as (vocab, chat):
        assert b"question" in bytes_of(vocab, chat.encode([Message("user", "question")]))


@pytest.mark.parametrize("template", [None, "constant"])
def test_some_prompt_with_the_question_comes_of_any_template(tmp_path, template):
    for controls in (tiny.CONTROLS, ("<a>", "<b>", "<c>")):
        with chat_of(tmp_path, template, controls=controls) as (vocab, chat):
            tokens = chat.encode([Message("system", "sys"), Message("user", "question")])
            assert b"question" in bytes_of(vocab, tokens)
            assert b"sys" in bytes_of(vocab, tokens)
            assert chat.template.warning
