"""Tool calls over HTTP, as OpenAI's own client reads them."""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from shutil import which
from typing import Any

import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState

from tests import ROOT, tiny
from tests.assistant.serve.conftest import Running, serving

MANUAL = ROOT / "docs/serving.md"
ASKED = [{"role": "user", "content": "Is it raining in Rome?"}]
PLACES, DAYS = ["Rome", "Oslo"], [1, 2, 3]


def tool(name: str, **properties: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    schema |= {"required": [*properties], "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "parameters": schema, "strict": True}}


WEATHER = tool("weather", place={"enum": PLACES}, days={"enum": DAYS})
WAIT = tool("wait")
TOOLS = [WEATHER, WAIT]
NEVER_ENDING = tool("note", text={"type": "string", "minLength": 5000})


@pytest.fixture(scope="module")
def calling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One that stops only where it must, so that its calls are followed by calls."""
    path = tiny.write(tmp_path_factory.mktemp("tiny") / "calling.gguf", stops=False, n_ctx=8192)
    with serving(path, n_ctx=8192, measure=False) as endpoint:
        yield endpoint


def ask(running: Running, **wanted: Any) -> Any:
    asked = {"messages": ASKED, "tools": TOOLS, "max_tokens": 400, "seed": 3, **wanted}
    return running.client().chat.completions.create(model="tiny", **asked)


def put_together(chunks: Iterable[Any]) -> Any:
    """Return the choice that a stream comes to, as OpenAI's client puts it together."""
    state = ChatCompletionStreamState()
    for chunk in chunks:
        state.handle_chunk(chunk)
    return state.current_completion_snapshot.choices[0]


def fits(call: Any) -> bool:
    arguments = json.loads(call.function.arguments)
    if call.function.name == "wait":
        return not arguments
    known = call.function.name == "weather" and arguments.keys() == {"place", "days"}
    return known and arguments["place"] in PLACES and arguments["days"] in DAYS


def test_a_call_comes_if_it_is_required_and_fits_its_schema(calling: Running) -> None:
    named = {"type": "function", "function": {"name": "wait"}}
    for choice, reason in (("required", "tool_calls"), (named, "stop")):
        done = ask(calling, tool_choice=choice, parallel_tool_calls=False)
        (choice,) = done.choices
        (call,) = choice.message.tool_calls
        assert fits(call)
        assert reason == "tool_calls" or call.function.name == "wait"
        assert (call.id[:5], call.type) == ("call_", "function")
        assert (choice.message.content, choice.finish_reason) == (None, reason)
    (choice,) = ask(calling, tool_choice="none", max_tokens=30).choices
    assert (choice.message.tool_calls, choice.finish_reason) == (None, "length")
    assert choice.message.content


@pytest.mark.parametrize("parallel", [False, True])
def test_a_stream_calls_what_a_whole_answer_does(calling: Running, parallel: bool) -> None:
    wanted = {"tool_choice": "required", "parallel_tool_calls": parallel, "max_tokens": 150}
    whole = ask(calling, **wanted)
    chunks = [*ask(calling, **wanted, stream=True, stream_options={"include_usage": True})]
    ours, theirs = whole.choices[0], put_together(chunks)
    calls, streamed = ours.message.tool_calls, theirs.message.tool_calls
    assert (len(calls) > 1) is parallel
    for ours_of, theirs_of in zip(calls, streamed, strict=True):
        assert ours_of.function.to_dict().items() <= theirs_of.function.to_dict().items()
    assert len({call.id for call in streamed}) == len(calls)
    assert theirs.message.content == ours.message.content
    assert theirs.finish_reason == ours.finish_reason
    assert chunks[-1].usage.total_tokens == whole.usage.total_tokens
    tokens = [t for c in chunks[1:-1] for t in c.model_extra["specchat"].get("tokens", ())]
    assert tokens == whole.model_extra["specchat"]["tokens"]
    deltas = [d for c in chunks[:-1] for d in c.choices[0].delta.tool_calls or () if d.index == 0]
    names = [(delta.id, delta.type, delta.function.name) for delta in deltas]
    assert names[0] == (streamed[0].id, "function", calls[0].function.name)
    assert {*names[1:]} == {(None, None, None)}
    assert deltas[0].function.arguments == ""


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_is_cut_is_told_as_far_as_it_came(calling: Running, stream: bool) -> None:
    wanted = {"tools": [NEVER_ENDING], "tool_choice": "required", "max_tokens": 200}
    done = ask(calling, **wanted, stream=stream)
    choice = put_together(done) if stream else done.choices[0]
    (call,) = choice.message.tool_calls
    assert call.function.name == "note"
    assert call.function.arguments.startswith('{"text": "')
    assert not call.function.arguments.endswith('"}')
    assert (choice.message.content, choice.finish_reason) == (None, "length")
    if not stream:
        result = {"role": "tool", "tool_call_id": call.id, "content": "It was cut."}
        history = [*ASKED, choice.message, result]
        assert ask(calling, messages=history, max_tokens=2).usage.completion_tokens == 2


def test_an_answer_with_another_beginning_than_its_form_is_refused(calling: Running) -> None:
    begun = [*ASKED, {"role": "assistant", "content": "Let me see."}]
    form = {"type": "json_object"}
    for wanted in ({"tool_choice": "required"}, {"tools": [], "response_format": form}):
        with pytest.raises(openai.BadRequestError, match="does not have the form"):
            ask(calling, messages=begun, **wanted)
    assert ask(calling, messages=begun, max_tokens=3).usage.completion_tokens == 3
    begun[-1]["content"] = '{"'
    more = ask(calling, messages=begun, tools=[], response_format=form, max_tokens=3, logprobs=True)
    assert len(more.choices[0].logprobs.content) == 3


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("limit", "whole"), [(15, 0), (82, 1)])
def test_the_marks_of_a_call_cut_before_its_name_are_no_text(
    calling: Running, limit: int, whole: int, stream: bool
) -> None:
    wanted = {"tools": [WAIT], "tool_choice": "required", "max_tokens": limit}
    done = ask(calling, **wanted, stream=stream)
    choice = put_together(done) if stream else done.choices[0]
    assert not choice.message.content
    assert (len(choice.message.tool_calls or ()), choice.finish_reason) == (whole, "length")


def test_tools_too_large_together_are_refused_before_the_next_request(calling: Running) -> None:
    named = {f"property_{n}": {"type": "string"} for n in range(101)}
    tools = [tool(f"tool_{i}", **dict([*named.items()][i != 7 :])) for i in range(128)]
    with pytest.raises(openai.BadRequestError, match=r"The tools take .* \(tool_7, with"):
        ask(calling, tools=tools)
    assert ask(calling, max_tokens=2).usage.completion_tokens == 2


@pytest.mark.parametrize("calls", [True, False])
def test_the_answer_is_prefilled_while_a_client_runs_a_tool(
    calling: Running, monkeypatch: pytest.MonkeyPatch, calls: bool
) -> None:
    monkeypatch.setattr(calling, "reads_ahead", True)
    before = len(calling.engine.read)
    wanted = {"tool_choice": "required" if calls else "none", "max_tokens": 200 if calls else 20}
    message = ask(calling, parallel_tool_calls=False, **wanted).choices[0].message
    calling.until(lambda: len(calling.engine.read) == before + 1)
    calling.until(lambda: calling.engine.read[-1]._is_exhausted)  # to its end: others wait for it
    *_, answer, following = calling.engine.read[-1].job.request.messages
    assert (answer.role, answer.content) == ("assistant", message.content or "")
    assert following.role == ("tool" if calls else "user")
    names = [call.function.name for call in message.tool_calls or ()]
    assert [call.name for call in answer.tool_calls] == names


def test_nothing_is_read_while_another_request_waits_or_on_battery(calling: Running) -> None:
    before = len(calling.engine.read)
    ask(calling, tool_choice="none", max_tokens=5)
    assert len(calling.engine.read) == before


def test_a_title_asked_between_two_turns_costs_the_conversation_nothing(calling: Running) -> None:
    """As agents do: a request of its own, with another system prompt, beside the main one."""
    system = {"role": "system", "content": "You edit files. " * 40}
    title = [{"role": "system", "content": "Give a title. " * 30}, *ASKED]
    history = [system, *ASKED]
    for _ in range(3):
        done = ask(calling, messages=history, tool_choice="required", parallel_tool_calls=False)
        ask(calling, messages=title, tools=[], max_tokens=5)
        message = done.choices[0].message
        result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "rain"}
        history = [*history, message, result]
        again = ask(calling, messages=history, max_tokens=1)
        read = done.usage.prompt_tokens + done.usage.completion_tokens
        assert again.usage.prompt_tokens_details.cached_tokens >= read - 1


def program(language: str, port: int) -> str:
    """Return the manual's last program in a language, for a server that listens on a port."""
    codes = re.findall(rf"^```{language}\n(.*?)^```$", MANUAL.read_text(), re.M | re.S)
    return str(codes[-1]).replace("8471", str(port))


@pytest.mark.skipif(which("curl") is None, reason="needs curl")
def test_the_request_of_the_manual_is_answered(calling: Running) -> None:
    asked = program("sh", calling.port).replace('"messages"', '"max_tokens": 5, "messages"')
    done = subprocess.run(["sh", "-c", asked], capture_output=True, check=True)
    assert json.loads(done.stdout)["choices"][0]["finish_reason"] == "length"


def test_the_agent_of_the_manual_runs(
    calling: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model of random weights ends an argument only where its schema does."""
    (tmp_path / "notes.txt").write_text("The 7 goes over Castle Street.")
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {}
    agent = program("python", calling.port).replace('{"type": "string"}', '{"enum": ["notes.txt"]}')
    agent = agent.replace("temperature=0,", "temperature=0, max_tokens=400,")
    exec(compile(agent, str(MANUAL), "exec"), known)
    known["client"].close()
    assert known["messages"][2]["content"] == "The 7 goes over Castle Street."
