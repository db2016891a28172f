"""Thoughts over HTTP: beside the answer, in the fields of other servers."""

from contextlib import contextmanager

import openai
import pytest

from tests.assistant.serve.conftest import serving

ASKED = [{"role": "user", "content": "Why?"}]
BUDGET = {"specchat": {"thinking_budget": 6}}


@pytest.fixture(scope="module")
def thinking(thinking_target):
    with asked_of(thinking_target) as client:
        yield client


@contextmanager
def asked_of(path):
    with serving(path, n_ctx=512, measure=False) as endpoint, endpoint.client() as client:
        yield client


def ask(client, messages=ASKED, **options):
    return client.chat.completions.create(
        model="tiny",
        messages=messages,
        **{"max_tokens": 24, "seed": 5, "extra_body": BUDGET, **options},
    )


def test_a_thought_comes_beside_the_answer_whole_and_in_deltas(thinking):
    whole = ask(thinking)
    message = whole.choices[0].message
    assert message.reasoning_content
    assert message.content
    assert whole.usage.completion_tokens_details.reasoning_tokens == 6 + len("</think>")
    deltas = [chunk.choices[0].delta for chunk in ask(thinking, stream=True)]
    thought_parts = [getattr(delta, "reasoning_content", None) or "" for delta in deltas]
    assert "".join(thought_parts) == message.reasoning_content
    assert "".join(delta.content or "" for delta in deltas) == message.content


def test_a_thought_is_an_item_of_a_response_before_the_message(thinking):
    asked = {"model": "tiny", "input": "Why?", "max_output_tokens": 24}
    own = {"extra_body": {"seed": 5, **BUDGET}}
    whole = thinking.responses.create(**asked, **own)
    assert [item.type for item in whole.output] == ["reasoning", "message"]
    *thought_parts, last = thinking.responses.create(**asked, **own, stream=True)
    deltas = [
        event.delta for event in thought_parts if event.type == "response.reasoning_text.delta"
    ]
    for response in (whole, last.response):
        assert "".join(deltas) == response.output[0].content[0].text
        assert response.output_text == whole.output_text != ""
    back = [{"role": "user", "content": "Why?"}, *whole.output, {"role": "user", "content": "So?"}]
    assert thinking.responses.create(**{**asked, "input": back}, **own).output_text


def test_a_thought_may_come_back_and_thinking_be_switched_off(thinking):
    back = {"role": "assistant", "content": "So.", "reasoning_content": "Hm."}
    assert ask(thinking, [*ASKED, back, *ASKED]).choices[0].message.content
    plain = ask(thinking, [*ASKED, {"role": "assistant", "content": "So."}, *ASKED])
    assert plain.usage.prompt_tokens == ask(thinking, [*ASKED, back, *ASKED]).usage.prompt_tokens
    for off in (
        {"reasoning_effort": "none"},
        {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}},
    ):
        message = ask(thinking, **off).choices[0].message
        assert not getattr(message, "reasoning_content", None)
        assert message.content
    assert ask(thinking, reasoning_effort="high").choices[0].message.reasoning_content


def test_an_effort_has_no_effect_on_a_model_that_does_not_think(tiny_target):
    with asked_of(tiny_target) as client:
        for asked in (
            {"reasoning_effort": "low"},
            {"chat_template_kwargs": {"enable_thinking": True}},
        ):
            assert ask(client, extra_body=asked).choices[0].message.content
            with pytest.raises(openai.BadRequestError, match="does not think"):
                ask(client, extra_body={**asked, "strict_api": True})
        assert ask(client, reasoning_effort="none", extra_body={}).choices[0].message.content
