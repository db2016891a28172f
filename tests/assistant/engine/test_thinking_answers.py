"""Answers with thoughts: thought and answer stay apart, whatever ends either."""

from dataclasses import replace

import pytest

from assistant.events import Stop, text_in
from assistant.request import Message, Request, Sampling
from tests.assistant.engine import answering

ASKED = Message("user", "Why?")
REQUEST = Request(
    (ASKED,), Sampling(temperature=14, top_k=0, top_p=1), "ars", None, 40, 3, thinking_budget=12
)


@pytest.fixture
def assistant(opened, thinking_target):
    return opened(thinking_target)


def answer(assistant, request):
    events = answering.answer(assistant, request)
    return events[-1], answering.tokens(events)


def test_a_thought_is_closed_at_its_budget_and_the_answer_follows(assistant):
    end, tokens = answer(assistant, REQUEST)
    assert end.stats.thought_tokens == 12 + len("</think>")
    assert [token.part for token in tokens].count("marker") >= len("</think>")
    assert end.thought
    assert end.text
    assert (end.thought, end.text) == (text_in(tokens, "thought"), text_in(tokens))
    assert len(end.token_ids) == 40
    assert "</think>" not in end.thought + end.text


def test_an_answer_stopped_in_its_thought_continues_there(assistant):
    whole, _ = answer(assistant, REQUEST)
    cut, _ = answer(assistant, replace(REQUEST, max_tokens=5))
    assert (cut.text, cut.stop) == ("", Stop.LENGTH)
    begun = Message("assistant", "", cut.token_ids, cut.thought)
    rest, _ = answer(assistant, replace(REQUEST, messages=(ASKED, begun), max_tokens=35))
    assert cut.token_ids + rest.token_ids == whole.token_ids
    assert cut.thought + rest.thought == whole.thought
    assert rest.text == whole.text


def test_a_stop_string_in_a_thought_stops_nothing(assistant):
    whole, _ = answer(assistant, REQUEST)
    letter = next(each for each in whole.text if each in whole.thought)
    cut, _ = answer(assistant, replace(REQUEST, stop_strings=(letter,)))
    assert (cut.thought, cut.text) == (whole.thought, whole.text[: whole.text.index(letter)])
