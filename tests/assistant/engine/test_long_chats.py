"""Conversations and questions that exceed the context by far."""

import random
from unittest.mock import Mock

import pytest

from assistant.events import Prepared
from assistant.prompt.context import SLICE, count_tokens, drop_oversized, fit
from assistant.request import Message, Request, Sampling
from models.errors import Cancelled, ContextFull
from tests.assistant.engine.answering import answer, spoken
from tests.assistant.prompt.prompts import conversation, encode

SYSTEM = "Be brief, and never forget this sentence."
MEGABYTES = 10_000_000
HOT = Sampling(temperature=30, top_k=20)


def watched(vocab):
    vocab.tokenize = Mock(side_effect=vocab.tokenize)
    return vocab.tokenize


def characters(tokenize):
    return sum(len(call.args[0]) for call in tokenize.call_args_list)


def test_a_question_of_megabytes_is_refused_and_the_next_answered(opened, tiny_target, tiny_draft):
    assistant = opened(tiny_target, tiny_draft)
    tokenize = watched(assistant.vocab)
    for text in (
        "word " * (MEGABYTES // 5),
        " " * MEGABYTES,
        "\u6f22" * 10**7,
        "<|im_end|>" * 10**6,
    ):
        request = Request((Message("user", text),), HOT)
        with pytest.raises(ContextFull, match=r"takes about \d+,\d+,\d+ tokens,.*room for 824\."):
            answer(assistant, request)
        assert characters(tokenize) < 10 * SLICE
        tokenize.reset_mock()
    system = Message("system", "s" * MEGABYTES)
    with pytest.raises(ContextFull, match="system prompt takes about 10,000,000 tokens"):
        answer(assistant, Request((system, Message("user", "Why?")), HOT))
    assert answer(assistant, Request((Message("user", "Why?"),), HOT, max_tokens=3))


def test_earlier_megabytes_are_left_out_before_they_are_tokenised(opened, tiny_target, tiny_draft):
    assistant = opened(tiny_target, tiny_draft)
    tokenize = watched(assistant.vocab)
    messages = (
        Message("system", SYSTEM),
        Message("user", "before"),
        Message("assistant", "yes"),
        Message("user", "x" * MEGABYTES),
        Message("assistant", "no"),
        Message("user", "after"),
    )
    prepared, *_ = answer(assistant, Request(messages, HOT, max_tokens=3))
    assert isinstance(prepared, Prepared)
    assert prepared.dropped_turns == 2
    assert characters(tokenize) < 10 * SLICE
    assert spoken(assistant).startswith(f"system\n{SYSTEM}\nuser\nafter\nassistant\n")


def test_a_cancel_stops_a_prompt_between_two_turns(opened, tiny_target):
    assistant = opened(tiny_target, n_ctx=256)
    real = assistant.chat.encode

    def encode(*asked, **settings):
        if encoding.call_count == 3:
            assistant.control.cancel.raise_()
        return real(*asked, **settings)

    encoding = assistant.chat.encode = Mock(side_effect=encode)
    with pytest.raises(Cancelled):
        answer(assistant, Request(tuple(conversation(*[9] * 100))))
    assert encoding.call_count == 3


@pytest.mark.parametrize("seed", range(20))
def test_dropping_oversized_turns_first_changes_only_the_time(seed):
    rng = random.Random(seed)
    budget = 20_000
    lengths = [rng.choice((10, 500, 9000, 16_000, 26_000, 40_000, 90_000)) for _ in range(9)]
    messages = conversation(*lengths, 30)
    tokens, dropped = fit(messages, encode, budget)
    rest, hopeless = drop_oversized(messages, lambda text: [ord(c) for c in text], budget)
    assert hopeless == max(
        (i + 1 for i, length in enumerate(lengths) if length > 1.25 * budget), default=0
    )
    again, more = fit(rest, encode, budget)
    assert (again, hopeless + more) == (tokens, dropped)


def test_a_count_is_exact_up_to_what_matters_and_about_right_beyond():
    def tokenize(text):
        return text.split()

    text = "one two " * 9999
    assert count_tokens(text, tokenize, 10**9) == 2 * 9999
    assert count_tokens(text, tokenize, 100) == pytest.approx(2 * 9999, rel=0.01)
    assert count_tokens("", tokenize, 0) == 0
