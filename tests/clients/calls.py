"""Calls of each client: chat, stream with usage, tool round trip, structured answer, abort.

Run by a Python that has the clients, with the address of a server; prints a line for each client.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, Literal

from pydantic import BaseModel

URL, MODEL = sys.argv[1], "tiny"
HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
PLACE: dict[str, Any] = {"type": "object", "properties": {"place": {"enum": ["Rome", "Oslo"]}}}
PLACE |= {"required": ["place"], "additionalProperties": False}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": PLACE}}
CALLS: dict[str, Any] = {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False}
Things = tuple[Callable[[], object], ...]


class Answer(BaseModel, extra="forbid"):
    """A structured answer, which even a random model ends."""

    name: Literal["Rome", "Oslo"]
    ok: bool


def weather(ok: bool) -> str:
    """Tell the weather."""
    return f"rain: {ok}"


def messages_after(message: Any) -> list[Any]:
    call = message.tool_calls[0]
    assert json.loads(call.function.arguments)["place"]
    return [*HELLO, message, {"role": "tool", "tool_call_id": call.id, "content": "rain"}]


def leaving(start: Callable[[], Any], then: Callable[[], object]) -> Callable[[], None]:
    """Return what closes a stream after its first event, and goes on."""

    def abort() -> None:
        events = start()
        next(iter(events))
        getattr(events, "completion_stream", events).close()
        then()

    return abort


def openai() -> Things:
    client = import_module("openai").OpenAI(base_url=URL, api_key="none", max_retries=0)
    completions = client.chat.completions
    asked: Any = {"model": MODEL, "messages": HELLO}

    def chat() -> None:
        assert completions.create(**asked, max_tokens=5).usage.completion_tokens == 5

    def stream() -> None:
        usage = {"stream_options": {"include_usage": True}}
        helper = completions.stream(**asked, response_format=Answer, max_tokens=200, **usage)
        with helper as events:
            assert [*events]
            assert events.get_final_completion().usage.completion_tokens

    def tools() -> None:
        message = completions.create(**asked, **CALLS, max_tokens=100).choices[0].message
        again = messages_after(message)
        completions.create(model=MODEL, messages=again, tools=[TOOL], max_tokens=5)

    def structured() -> None:
        done = completions.parse(**asked, response_format=Answer, max_tokens=200)
        assert done.choices[0].message.parsed

    abort = leaving(lambda: completions.create(**asked, stream=True), chat)
    return chat, stream, tools, structured, abort


def openai_responses() -> Things:
    responses = import_module("openai").OpenAI(base_url=URL, api_key="none").responses
    asked: Any = {"model": MODEL, "input": "Hello", "max_output_tokens": 200}

    def chat() -> None:
        assert responses.create(**{**asked, "max_output_tokens": 5}).usage.output_tokens == 5

    def stream() -> None:
        with responses.stream(**asked, text_format=Answer) as events:
            assert [*events]
            assert events.get_final_response().usage.output_tokens

    def tools() -> None:
        tool = {"type": "function", "name": "weather", "parameters": PLACE}
        call = responses.create(**asked, **{**CALLS, "tools": [tool]}).output[0]
        assert json.loads(call.arguments)["place"]
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
        responses.create(**{**asked, "input": [*HELLO, call, result]}, tools=[tool])

    def structured() -> None:
        assert responses.parse(**asked, text_format=Answer).output_parsed

    abort = leaving(lambda: responses.create(model=MODEL, input="Hello", stream=True), chat)
    return chat, stream, tools, structured, abort


def litellm() -> Things:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it asks the network otherwise
    library = import_module("litellm")

    def complete(messages: list[Any] = HELLO, **more: Any) -> Any:
        where = {"model": f"openai/{MODEL}", "api_base": URL, "api_key": "none"}
        return library.completion(messages=messages, **where, **more)

    def chat() -> None:
        assert complete(max_tokens=5).usage.completion_tokens == 5

    def stream() -> None:
        usage = {"include_usage": True}
        chunks = [*complete(max_tokens=5, stream=True, stream_options=usage)]
        assert chunks[-1].usage.completion_tokens == 5

    def tools() -> None:
        message = complete(**CALLS, max_tokens=100).choices[0].message
        complete(messages_after(message), tools=[TOOL], max_tokens=5)

    def structured() -> None:
        done = complete(response_format=Answer, max_tokens=200)
        Answer.model_validate_json(done.choices[0].message.content)

    return chat, stream, tools, structured, leaving(lambda: complete(stream=True), chat)


def llm() -> Things:
    kind = import_module("llm.default_plugins.openai_models").Chat
    can = {"supports_tools": True, "supports_schema": True}
    model = kind("tiny", model_name=MODEL, api_base=URL, **can)
    model.key, model.needs_key = "none", None

    def chat() -> None:
        model.prompt("Hello", stream=False, max_tokens=5).text()

    def stream() -> None:
        response = model.prompt("Hello", stream=True, max_tokens=5)
        response.text()
        assert response.usage().output == 5

    def tools() -> None:
        model.chain("Hello", tools=[weather], stream=False, options={"max_tokens": 5}).text()

    def structured() -> None:
        response = model.prompt("Hello", schema=Answer, stream=False, max_tokens=200)
        Answer.model_validate_json(response.text())

    abort = leaving(lambda: iter(model.prompt("Hello", stream=True)), chat)
    return chat, stream, tools, structured, abort


def pydantic_ai() -> Things:
    library = import_module("pydantic_ai")
    provider = import_module("pydantic_ai.providers.openai").OpenAIProvider
    model = import_module("pydantic_ai.models.openai").OpenAIChatModel(
        MODEL, provider=provider(base_url=URL, api_key="none")
    )

    def agent(tokens: int, **more: Any) -> Any:
        return library.Agent(model, model_settings={"max_tokens": tokens}, **more)

    def chat() -> None:
        assert agent(5).run_sync("Hello").usage.output_tokens == 5

    async def streamed(tokens: int, whole: bool) -> None:
        async with agent(tokens).run_stream("Hello") as run:
            async for _ in run.stream_text():
                if not whole:
                    return
            assert run.usage.output_tokens == tokens

    def tools() -> None:
        limits = import_module("pydantic_ai.usage").UsageLimits(request_limit=8)
        calling = agent(400, output_type=Answer, tools=[weather], retries=3)
        with suppress(library.UsageLimitExceeded):  # a random model calls on and on
            calling.run_sync("Hello", usage_limits=limits)

    def structured() -> None:
        native = library.NativeOutput(Answer)
        assert agent(200, output_type=native).run_sync("Hello").output

    def abort() -> None:
        asyncio.run(streamed(4000, whole=False))
        chat()

    return chat, lambda: asyncio.run(streamed(5, whole=True)), tools, structured, abort


def instructor() -> Things:
    library = import_module("instructor")
    client = import_module("openai").OpenAI(base_url=URL, api_key="none", max_retries=0)
    asked: Any = {"model": MODEL, "messages": HELLO, "max_tokens": 400}

    def completions(mode: str) -> Any:
        return library.from_openai(client, mode=library.Mode[mode]).chat.completions

    def chat() -> None:
        assert completions("TOOLS").create(**asked, response_model=None).choices

    def stream() -> None:
        assert [*completions("JSON_SCHEMA").create_partial(**asked, response_model=Answer)]

    def tools() -> None:
        one = {"parallel_tool_calls": False}
        assert completions("TOOLS").create(**asked, **one, response_model=Answer)

    def structured() -> None:
        assert completions("JSON_SCHEMA").create(**asked, response_model=Answer)

    def abort() -> None:
        next(iter(completions("JSON_SCHEMA").create_partial(**asked, response_model=Answer)))
        structured()

    return chat, stream, tools, structured, abort


def langchain() -> Things:
    messages = import_module("langchain_core.messages")

    def model(tokens: int) -> Any:
        kind = import_module("langchain_openai").ChatOpenAI
        where = {"base_url": URL, "api_key": "none", "max_retries": 0}
        return kind(model=MODEL, max_tokens=tokens, **where, use_responses_api=False)

    def chat() -> None:
        assert model(5).invoke("Hello").usage_metadata["output_tokens"] == 5

    def stream() -> None:
        first, *more = model(5).stream("Hello", stream_usage=True)
        for chunk in more:
            first += chunk
        assert first.usage_metadata["output_tokens"] == 5

    def tools() -> None:
        one = {"tool_choice": "any", "parallel_tool_calls": False}
        answer = model(200).bind_tools([TOOL], **one).invoke("Hello")
        result = messages.ToolMessage("rain", tool_call_id=answer.tool_calls[0]["id"])
        asked = [messages.HumanMessage("Hello"), answer, result]
        model(5).bind_tools([TOOL]).invoke(asked)

    def structured() -> None:
        assert model(200).with_structured_output(Answer).invoke("Hello")

    abort = leaving(lambda: model(4000).stream("Hello"), chat)
    return chat, stream, tools, structured, abort


def outcome(thing: Callable[[], object]) -> str:
    try:
        thing()
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    return "ok"


def main() -> int:
    """Print a line for each client; return 1 if it could not do one of the five things."""
    failed = 0
    for client in (openai, openai_responses, litellm, llm, pydantic_ai, instructor, langchain):
        results = [outcome(thing) for thing in client()]
        failed |= results != ["ok"] * 5
        print(f"{client.__name__:16} {' | '.join(results)}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
