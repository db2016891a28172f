"""Chat completions, as OpenAI's own client gets them, and clients that misbehave."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import Mock

import numpy as np
import openai
import pytest
from openai.types.chat.chat_completion import ChoiceLogprobs

from assistant.events import Loading, Prefilled, Prepared
from assistant.process.engine_process import STOPPED
from assistant.request import Request
from assistant.serve.completion_objects import Completion
from assistant.serve.completion_schema import parse
from assistant.serve.exchange import Exchange, Waiting
from assistant.serve.exchange import as_stream as streamed
from tests.assistant.serve.conftest import Running, finished, serving

HELLO = [{"role": "user", "content": "Hello"}]
NO_LOGPROBS = ChoiceLogprobs(content=[])
RECORDED = json.loads(Path(__file__).with_name("client_requests.json").read_text())
"""The requests that clients make by themselves, recorded with tests/clients."""
STRICT = {"strict_api": True}
STREAM = {"stream": True, "stream_options": {"include_usage": True}}
LONG = [{"role": "user", "content": "x" * 3000}]


def complete(client: openai.OpenAI, **wanted: Any) -> Any:
    return client.chat.completions.create(**{"model": "tiny", "messages": HELLO, **wanted})


def speculating(**more: Any) -> dict[str, Any]:
    return {"seed": 3, "extra_body": {"specchat": {"mode": "sps", "lookahead": 3}}, **more}


def text(part: str) -> dict[str, str]:
    return {"type": "text", "text": part}


def test_the_model_is_listed_and_found(running: Running) -> None:
    client = running.client()
    (card,) = client.models.list().data
    assert card.id == client.models.retrieve("tiny").id == "tiny"
    assert card.specchat["context"] == 1024
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("other")


def test_a_completion_tells_of_each_token_where_it_came_from(running: Running) -> None:
    done = complete(running.client(), **speculating(max_tokens=30))
    (choice,) = done.choices
    own = done.model_extra["specchat"]
    assert choice.finish_reason == own["stop"] == "length"
    assert choice.message.content.startswith("".join(token["text"] for token in own["tokens"]))
    assert done.usage.completion_tokens == len(own["tokens"]) == 30
    assert done.usage.total_tokens == done.usage.prompt_tokens + 30
    origins = [token["origin"] for token in own["tokens"]]
    assert origins.count("draft") == own["stats"]["accepted"] > 0
    assert origins.count("target") == 30 - own["stats"]["accepted"]
    assert all(0 < token["target_prob"] <= 1 for token in own["tokens"])
    details = done.usage.completion_tokens_details
    assert details.accepted_prediction_tokens == details.rejected_prediction_tokens == 0


def test_a_text_is_completed_without_the_template_whole_and_streamed(running: Running) -> None:
    client = running.client()
    body = {"model": "tiny", "prompt": "Once<|im_end|>", "seed": 3}
    whole = client.completions.create(**body)
    assert whole.choices[0].finish_reason == "length"
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (len("Once") + 1, 16)
    *chunks, usage = client.completions.create(**body, **STREAM)
    assert "".join(chunk.choices[0].text for chunk in chunks) == whole.choices[0].text
    assert usage.usage.total_tokens == whole.usage.total_tokens
    for name, value in (
        ("prompt", ["a", "b"]), ("prompt", [1, 2]), ("prompt", []), ("suffix", [1]), ("echo", True),
    ):  # fmt: skip
        with pytest.raises(openai.BadRequestError) as refused:
            client.completions.create(**{**body, name: value})
        assert refused.value.param == name
        assert name != "prompt" or "one text that is not empty, and no token" in str(refused.value)
    with pytest.raises(openai.BadRequestError, match="takes 1,500 tokens"):
        client.completions.create(model="tiny", prompt="x" * 1500)


def logprobs_of(client: openai.OpenAI, mode: str, stream: bool, **wanted: Any) -> Any:
    """Return the text of an answer and the log probabilities of its tokens."""
    own = {"specchat": {"mode": mode, "lookahead": 3}}
    common = {"seed": 3, "max_tokens": 40, "logprobs": True, "extra_body": own}
    done = complete(client, stream=stream, **common, **wanted)
    choices = [chunk.choices[0] for chunk in done] if stream else done.choices
    rows = [row for choice in choices for row in (choice.logprobs or NO_LOGPROBS).content or ()]
    logprobs = [[entry.logprob for entry in (row, *row.top_logprobs)] for row in rows]
    return [row.token for row in rows], logprobs


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("temperature", [0, 8])
def test_logprobs_equal_those_of_ars(running: Running, stream: bool, temperature: float) -> None:
    client = running.client()
    wanted = {"top_logprobs": 5, "temperature": temperature}
    plain, speculative = (logprobs_of(client, mode, stream, **wanted) for mode in ("ars", "sps"))
    assert plain[0] == speculative[0]
    np.testing.assert_allclose(plain[1], speculative[1], atol=2e-3)  # of scores near 50
    for own, *likely in plain[1]:
        assert likely == sorted(likely, reverse=True)
        assert sum(map(np.exp, likely)) <= 1 + 1e-9
        assert own <= likely[0] <= 0
        assert len({*likely}) > 1  # of the model itself: at temperature 0, too
        assert temperature or own == likely[0]


def test_logprobs_come_if_they_are_asked_for(running: Running) -> None:
    client = running.client()
    assert complete(client, max_tokens=2).choices[0].logprobs is None
    done = complete(client, max_tokens=3, logprobs=True, seed=3).choices[0].logprobs.content
    assert [row.top_logprobs for row in done] == [[], [], []]
    assert all(bytes(row.bytes).decode("utf-8", "replace") == row.token for row in done)
    text = client.completions.create(model="tiny", prompt="Once", seed=3, logprobs=2).choices[0]
    assert len(text.logprobs.tokens) == len(text.logprobs.token_logprobs) == 16


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("in_parts", [False, True])
def test_a_prediction_is_used_and_counted(running: Running, stream: bool, in_parts: bool) -> None:
    client, body = running.client(), {**speculating(max_tokens=40), "temperature": 14}
    plain = complete(client, **body).choices[0].message.content
    content = [text(plain[:9]), text(plain[9:])] if in_parts else plain
    body["prediction"] = {"type": "content", "content": content}
    done = complete(client, **body, **(STREAM if stream else {}))
    *chunks, done = done if stream else [done]
    objects = chunks[1:] or [done]
    tokens = [t for each in objects for t in each.model_extra["specchat"].get("tokens", ())]
    assert "".join(token["text"] for token in tokens) == plain
    kept = [token["origin"] == "draft" for token in tokens if token["source"] == "edit"]
    details = done.usage.completion_tokens_details
    assert details.accepted_prediction_tokens == sum(kept) > 0
    assert details.rejected_prediction_tokens == kept.count(False)


def test_a_stream_says_the_same_as_a_whole_answer(running: Running) -> None:
    client = running.client()
    whole = complete(client, **speculating())
    *chunks, last, usage = complete(client, **speculating(), **STREAM)
    content = "".join(chunk.choices[0].delta.content for chunk in chunks)
    tokens = [token for chunk in chunks[1:] for token in chunk.model_extra["specchat"]["tokens"]]
    assert content == whole.choices[0].message.content
    assert tokens == whole.model_extra["specchat"]["tokens"]
    first_role, reason = chunks[0].choices[0].delta.role, last.choices[0].finish_reason
    assert (first_role, reason, usage.choices) == ("assistant", "length", [])
    assert usage.usage.total_tokens == whole.usage.total_tokens
    assert len({chunk.id for chunk in (*chunks, last, usage)}) == 1


def test_a_stream_has_the_form_that_is_asked_for_and_says_if_it_is_complete(running) -> None:
    client = running.client()
    properties = {"name": {"type": "string", "maxLength": 4}, "ok": {"type": "boolean"}}
    schema = {"type": "object", "properties": properties, "required": ["name", "ok"]}
    named = {"name": "person", "strict": True, "schema": {**schema, "additionalProperties": False}}
    strict = {"type": "json_schema", "json_schema": named}
    chunks = [*complete(client, response_format=strict, max_tokens=60, stream=True)]
    answer = json.loads("".join(chunk.choices[0].delta.content or "" for chunk in chunks))
    assert set(answer) == {"name", "ok"}
    assert chunks[-1].model_extra["specchat"]["complete"]
    cut = complete(client, response_format={"type": "json_object"}, max_tokens=1)
    assert (cut.choices[0].message.content, cut.choices[0].finish_reason) == ("{", "length")
    assert not cut.model_extra["specchat"]["complete"]


@pytest.mark.parametrize(
    ("wanted", "status", "code", "param"),
    [
        ({"prediction": {"type": "content", "content": 5}}, 400, None, "prediction.content"),
        ({"n": 2}, 400, "unsupported_parameter", "n"),
        ({"logprobs": True, "top_logprobs": 21}, 400, "invalid_value", "top_logprobs"),
        ({"response_format": {"type": "json_object"}, "extra_body": {"grammar": "x"}}, 400,
         "invalid_value", "grammar"),
        ({"extra_body": {"grammar": "root ::= nothing"}}, 400, "invalid_value", None),
        ({"extra_body": {"json_schema": {"type": "hiccup"}}}, 400, "invalid_value", None),
        ({"extra_body": {"grammar": "x" * 1_000_001}}, 400, "invalid_value", "grammar"),
        ({"response_format": {"type": "json_object", "schema": {"const": "x" * 10**6}}}, 400,
         "invalid_value", "response_format"),
        ({"seed": 2**80}, 400, "invalid_value", "seed"),
        ({"stop": "a" * 10**6}, 400, "invalid_value", "stop"),
        ({"model": "gpt", "extra_body": STRICT}, 404, "model_not_found", "model"),
        ({"extra_body": {"foo": 1, **STRICT}}, 400, "unknown_parameter", "foo"),
        ({"messages": LONG}, 400, "context_length_exceeded", None),
        ({"messages": LONG, "stream": True}, 400, "context_length_exceeded", None),
    ],
)  # fmt: skip
def test_an_impossible_field_is_refused_by_name(running, wanted, status, code, param) -> None:
    with pytest.raises(openai.APIStatusError) as refused:
        complete(running.client(), **wanted)
    assert (refused.value.status_code, refused.value.param) == (status, param)
    assert code in (None, refused.value.code)


def test_a_field_without_effect_is_answered_and_named_once(running: Running) -> None:
    odd = {"role": "assistant", "content": "Yes.", "reasoning_details": [1], "name": "x"}
    lone = [{"role": "tool", "content": "x"}]
    for messages in ([*HELLO, odd, *HELLO, odd, *HELLO], lone):
        done = complete(
            running.client(), model="gpt-4", messages=messages, max_tokens=2, stop=[""],
            extra_body={"keep_alive": -1}, reasoning_effort="low",
        )  # fmt: skip
        assert (done.model, done.usage.completion_tokens) == ("tiny", 2)
    for text in ("messages[].reasoning_details", "keep_alive", "gpt-4; tiny answers", "no effort"):
        assert sum(text in notice for notice in running.notices) == 1


@pytest.mark.parametrize(
    "wanted",
    [{"model": "x" * 10**6, "extra_body": STRICT}, {"extra_body": {"x" * 10**6: 1, **STRICT}}],
)
def test_a_name_from_a_client_is_repeated_in_a_line_at_most(running, wanted) -> None:
    with pytest.raises(openai.APIStatusError) as refused:
        complete(running.client(), **wanted)
    assert len(refused.value.response.content) < 1000
    running.until(lambda: "xx…xx" in running.served[-1].remark)
    assert all(len(each.remark) < 500 for each in running.served)
    with running.connect() as client:
        client.sendall(b"GET /" + b"x" * 10_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.recv(10)
    running.until(lambda: "xx…xx" in running.served[-1].path)


def test_an_answer_in_the_next_request_is_not_prefilled_again(running: Running) -> None:
    client = running.client()
    first = complete(client, **speculating(max_tokens=40))
    answer = {"role": "assistant", "content": first.choices[0].message.content}
    again = complete(client, messages=[*HELLO, answer, *HELLO], max_tokens=1)
    read = first.usage.prompt_tokens + first.usage.completion_tokens
    # The broken characters of a random answer could not be tokenised as they were decoded.
    assert "\ufffd" in answer["content"]
    assert again.usage.prompt_tokens_details.cached_tokens >= read - 1


def test_the_end_of_the_engine_is_one_error_and_the_next_request_works(slow: Running) -> None:
    client = slow.client("sesame")
    stream = complete(client, stream=True, max_tokens=4000)
    next(stream)
    slow.kill_engine()
    with pytest.raises(openai.APIError, match="engine"):
        list(stream)
    assert complete(client, max_tokens=2).usage.completion_tokens == 2

    def kill_while_it_answers() -> None:
        slow.until(lambda: slow.engine.answers)
        slow.kill_engine()

    Thread(target=kill_while_it_answers).start()
    with pytest.raises(openai.InternalServerError) as refused:
        complete(client, max_tokens=8000)
    assert (refused.value.status_code, refused.value.code) == (503, "engine_died")
    assert complete(client, max_tokens=2).usage.completion_tokens == 2


def raw(**wanted: Any) -> bytes:
    body = json.dumps({"model": "tiny", "messages": HELLO, **wanted}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sesame\r\n"
    kind = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head + kind + body


def gone(served: Sequence[Exchange]) -> int:
    """Return how many clients left before their answer; one of a test before may still come in."""
    return sum(exchange.status == 499 for exchange in served)


@pytest.mark.parametrize("streams", [False, True])
def test_who_hangs_up_stops_the_answer_and_the_next_one_comes(slow: Running, streams) -> None:
    before, stopped = gone(slow.served), slow.stopped()
    with slow.connect() as client, slow.connect() as waiting:
        client.sendall(raw(max_tokens=8000, stream=streams))
        waiting.sendall(raw(max_tokens=8000))
        if streams:
            client.recv(100)
        waiting.close()
    slow.until(lambda: gone(slow.served) >= before + 2)
    assert complete(slow.client("sesame"), max_tokens=2).usage.completion_tokens == 2
    assert slow.stopped() >= stopped + 2


def test_who_takes_nothing_of_a_stream_is_not_waited_for(slow: Running, monkeypatch) -> None:
    def much(_: object) -> bytes:  # more than all buffers take; only this has to be taken soon
        monkeypatch.setattr("assistant.serve.connection.TIMEOUT_S", 0.2)
        return b"data: " + 10**7 * b"x"

    before, stopped = gone(slow.served), slow.stopped()
    monkeypatch.setattr("assistant.serve.exchange._data", much)
    with slow.connect() as client:
        client.sendall(raw(max_tokens=8000, stream=True))
        slow.until(lambda: gone(slow.served) >= before + 1)
    monkeypatch.undo()
    assert complete(slow.client("sesame"), max_tokens=2).usage.completion_tokens == 2
    assert slow.stopped() > stopped


def test_a_waiting_stream_has_its_place_and_leaves_without_cost(slow: Running, monkeypatch) -> None:
    complete(slow.client("sesame"), max_tokens=1)
    before, ended = gone(slow.served), len(slow.engine.ends)
    with ExitStack() as stack:
        first, second, third = (stack.enter_context(slow.connect()) for _ in range(3))
        reading, waiting, last = (
            stack.enter_context(client.makefile("rb")) for client in (first, second, third)
        )
        first.sendall(raw(max_tokens=8000, stream=True))
        assert reading.readline() == b"HTTP/1.1 200 OK\r\n"
        second.sendall(raw(stream=True))
        assert b": waiting, 1 before you\n" in waiting
        third.sendall(raw(stream=True, max_tokens=2))
        assert b": waiting, 2 before you\n" in last
        waiting.close()
        second.close()
        slow.until(lambda: gone(slow.served) >= before + 1)
        assert slow.engine.ends[ended:] == [STOPPED]  # it has never begun
        monkeypatch.setattr("assistant.serve.endpoint.SILENCE_S", 0.01)
        fourth = stack.enter_context(slow.connect())
        fourth.sendall(raw(stream=True, max_tokens=2))
        assert b": waiting, 2 before you\n" in stack.enter_context(fourth.makefile("rb"))
        reading.close()
        first.close()
        assert b"data: [DONE]\n" in last


def test_turns_that_do_not_fit_are_named_or_the_request_is_refused(running: Running) -> None:
    client, long = running.client(), [{"role": "user", "content": "x" * 600}]
    done = complete(client, messages=[*long, *long, *HELLO], max_tokens=2)
    assert done.usage.prompt_tokens < 1000
    assert sum("without its oldest turns" in notice for notice in running.notices) == 1
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError) as refused:
            complete(
                client, model="tiny", messages=[*long, *long, *HELLO], stream=stream,
                extra_body=STRICT,
            )  # fmt: skip
        assert refused.value.code == "context_length_exceeded"


def test_a_stream_says_how_far_it_has_read() -> None:
    async def events() -> AsyncIterator[Any]:
        start = Waiting(2), Loading("target", "a\nb", 0.5), Prepared(6000, 0, 0)
        for event in (*start, Prefilled("target", 1200, 6000), finished("", ())):
            yield event

    async def sent() -> list[bytes]:
        exchange = Exchange({"method": "POST", "path": "/"}, None, None)  # type: ignore[arg-type]
        parsed = parse(b'{"messages": [{"role": "user"}]}', Request(()), "tiny")
        return [data async for data in streamed(events(), Completion(parsed), exchange)]

    waiting, loading, first, reading, *_, end = asyncio.run(sent())
    assert (waiting, loading) == (b": waiting, 2 before you\n\n", b": loading a b\n\n")
    assert b'"role":"assistant"' in first
    assert (reading, end) == (b": reading 1,200 of 6,000\n\n", b"data: [DONE]\n\n")


def test_too_many_that_wait_are_told_so(slow: Running, monkeypatch) -> None:
    monkeypatch.setattr("assistant.serve.endpoint.MAX_WAITING", 0)
    with slow.connect() as client:
        client.sendall(raw(max_tokens=8000, stream=True))
        client.recv(10)
        with pytest.raises(openai.RateLimitError) as refused:
            complete(slow.client("sesame"))
    assert refused.value.code == "queue_full"


def test_a_bug_is_one_answer_and_the_next_request_works(running: Running, monkeypatch) -> None:
    broken = Mock(side_effect=LookupError("secret"))
    with monkeypatch.context() as patch:
        patch.setattr("assistant.serve.endpoint.body_of", broken)
        with pytest.raises(openai.InternalServerError, match="bug in specchat: LookupError") as bug:
            complete(running.client())
    assert "secret" not in str(bug.value)
    assert complete(running.client(), max_tokens=1).usage.completion_tokens == 1


@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_default_requests_of_clients_are_answered(running: Running, number: int) -> None:
    recorded = RECORDED[number]
    limits = {"max_tokens": 3, "max_output_tokens": 3, "max_completion_tokens": None}
    body = {**recorded["body"], **limits}
    status, answer = running.post(recorded["path"], body)
    ends = b"response.incomplete" if "input" in body else b"data: [DONE]"
    assert (status, ends in answer) == (200, body.get("stream") is True)


# Thoughts

WHY = {"role": "user", "content": "Why?"}
BUDGET = {"specchat": {"thinking_budget": 6}}


@pytest.fixture(scope="module")
def thinking(thinking_target):
    with serving(thinking_target, n_ctx=512, measure=False) as endpoint:
        yield endpoint.client()


def think(client, *messages, **wanted):
    wanted = {"max_tokens": 24, "seed": 5, "extra_body": BUDGET, **wanted}
    return complete(client, messages=[*messages, WHY], **wanted)


def test_a_thought_comes_beside_the_answer_whole_and_in_deltas(thinking):
    whole = think(thinking)
    message = whole.choices[0].message
    assert message.reasoning_content
    assert message.content
    assert whole.usage.completion_tokens_details.reasoning_tokens == 6 + len("</think>")
    deltas = [chunk.choices[0].delta for chunk in think(thinking, stream=True)]
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
    back = [WHY, *whole.output, {"role": "user", "content": "So?"}]
    assert thinking.responses.create(**{**asked, "input": back}, **own).output_text


def test_a_thought_may_come_back_and_thinking_be_switched_off(thinking):
    back = {"role": "assistant", "content": "So.", "reasoning_content": "Hm."}
    again = think(thinking, WHY, back)
    assert again.choices[0].message.content
    plain = think(thinking, WHY, {"role": "assistant", "content": "So."})
    assert plain.usage.prompt_tokens == again.usage.prompt_tokens
    for off in (
        {"reasoning_effort": "none"},
        {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}},
    ):
        message = think(thinking, **off).choices[0].message
        assert not getattr(message, "reasoning_content", None)
        assert message.content
    assert think(thinking, reasoning_effort="high").choices[0].message.reasoning_content


def test_an_effort_has_no_effect_on_a_model_that_does_not_think(running):
    client = running.client()
    for asked in ({"reasoning_effort": "low"}, {"chat_template_kwargs": {"enable_thinking": True}}):
        assert think(client, extra_body=asked).choices[0].message.content
        with pytest.raises(openai.BadRequestError, match="does not think"):
            think(client, extra_body={**asked, **STRICT})
    assert think(client, reasoning_effort="none", extra_body={}).choices[0].message.content
