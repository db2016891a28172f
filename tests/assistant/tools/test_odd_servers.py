"""MCP servers that misbehave are limited, refused and reported."""

import asyncio
import errno
import os
import subprocess
import sys
from unittest.mock import Mock

import psutil
import pytest

from assistant.request import ToolCall
from assistant.tools import server
from assistant.tools.server import ERROR_BYTES
from assistant.tools.toolbox import ToolSet
from assistant.tools.values import RESULT_CHARACTERS, OfferedTool, ToolSettings, tool_result
from tests.assistant.tools.toolboxes import HERE, call, names, odd, opened, report
from tests.patience import WAIT_S, until

ROOT = HERE.parents[2]


async def again(tools: ToolSet) -> OfferedTool | None:
    """List the tools once more; return the one that most servers have."""
    await tools.refresh()
    return tools.offered.get("odd__go")


def test_a_result_is_cut_to_what_a_context_holds_and_stays_text_without_nulls():
    left_out = "\n[2,988,000 more characters were left out]"
    assert tool_result("a" * 3_000_000).text == "a" * RESULT_CHARACTERS + left_out
    assert tool_result("\x1b]0;owned\x07 \0 \ud800").text == "\x1b]0;owned\x07 \ufffd \ufffd"


async def test_a_list_of_tools_is_read_page_by_page():
    async with opened(odd("Pages")) as tools:
        assert len(names(tools)) == 31


async def test_tools_that_no_request_can_hold_are_left_out_with_the_reason():
    async with opened(odd("Unusable")) as tools:
        assert names(tools) == ["odd__read_file"]
        assert report(tools).tools[0].tool.description == "0"  # not the second of that name
        problem = report(tools).reason
    assert "'read_f\u0456le' has a name that models cannot write" in problem
    assert "'read.file' has the name of another tool" in problem
    assert "'long' describes itself in more than 20,000 characters" in problem
    assert "; 1 more." in problem
    async with opened(odd("Unusable", "broken")) as tools:
        assert names(tools) == ["odd__icon"]
        problem = report(tools).reason
    assert "'untyped' broke the protocol (inputSchema.type: Field required); '7' broke" in problem


async def test_a_server_lists_its_tools_once_a_round_and_once_a_call(tmp_path):
    """A tool that was allowed as it described itself is not called once that has changed."""
    file = tmp_path / "lists"
    async with opened(odd("Revising", file)) as tools:
        assert (before := await again(tools))
        assert file.read_text() == "2"
        assert (await call(tools, allowed=before)).text == "done"
        assert file.read_text() == "3"
        assert await tools.call(ToolCall("odd__go", "{}"), before) is None
        after = tools.offered["odd__go"]
        assert (before.tool.description, after.tool.description) == ("version 1", "version 2")
        assert (await call(tools, allowed=after)).text == "done"
        assert file.read_text() == "6"


@pytest.mark.parametrize("how", ["refuses", "ends"])
async def test_a_server_that_ended_since_it_was_used_is_started_again(how):
    async with opened(odd("Unlisting", how)) as tools:
        assert await again(tools)
        assert (report(tools).state, report(tools).reason) == ("ready", "")


@pytest.fixture(autouse=True)
def killed_soon(monkeypatch):
    """Servers that do not end by themselves are killed at once."""
    monkeypatch.setattr("mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", 0.1)
    monkeypatch.setattr("mcp.client.stdio.FORCE_KILL_TIMEOUT", 0.1)
    monkeypatch.setattr("mcp.shared.jsonrpc_dispatcher._ABANDON_WRITE_TIMEOUT", 0.1)


async def test_a_server_that_does_not_list_its_tools_is_stopped(monkeypatch):
    async with opened(odd("Unlisting", "hangs")) as tools:
        monkeypatch.setattr(server, "START_S", 0.2)
        assert await again(tools) is None
        assert report(tools).state == "failed"
        assert report(tools).reason.startswith("It did not list its tools within 0.2 s")
        monkeypatch.setattr(server, "START_S", WAIT_S)
        assert await again(tools)


async def test_a_server_that_dies_in_a_call_or_unused_is_reported_and_started_again():
    async with opened(odd("Dying")) as tools, asyncio.timeout(WAIT_S):
        result = await call(tools)
        assert result.state == "failed"
        assert "It ended, closed its output" in result.text
        assert report(tools).state == "failed"
        assert report(tools).errors == "I am going"
        assert await again(tools)
        for process in psutil.Process().children():
            process.kill() if "Dying" in process.cmdline() else None
        while report(tools).state == "ready":
            await asyncio.sleep(0.01)
        assert report(tools).reason.startswith("It ended, closed its output")


@pytest.mark.parametrize("how", ["text", "parts", "line without an end"])
async def test_a_message_that_is_too_long_is_not_parsed(how):
    async with opened(odd("Huge", how)) as tools:
        result = await call(tools)
    assert result.state == "failed"
    assert "more than 2 MB" in result.text


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (("Huge", "tools"), "It lists more than 1,000 tools."),
        (("Future",), "(Unsupported protocol version from the server: 2099-01-01)."),
        (("Toolless",), "It has no tools."),  # which is no failure
    ],
)
async def test_a_server_whose_tools_cannot_be_listed_is_reported(how, reason):
    async with opened(odd(*how)) as tools:
        assert report(tools).reason.endswith(reason)
        assert report(tools).state == ("ready" if "no tools" in reason else "failed")


@pytest.mark.parametrize(("number", "state"), [(30, "complete"), (1_000, "failed")])
async def test_requests_of_a_server_are_answered_one_after_another(number, state, monkeypatch):
    """It waits where it does not read the answers; they are no tasks of the event loop."""
    async with opened(odd("Flooding", number)) as tools:
        monkeypatch.setattr(server, "CALL_S", WAIT_S if state == "complete" else 0.5)
        waiting, most = asyncio.create_task(call(tools)), 0
        while not waiting.done():
            most = max(most, len(asyncio.all_tasks()))
            await asyncio.sleep(0)
        assert waiting.result().state == state
        assert state == "failed" or waiting.result().text == "in order"
    assert most < 50


@pytest.mark.parametrize("case", ["Waiting", "Hanging"])
async def test_a_call_lasts_until_it_is_cancelled(case, tmp_path, monkeypatch):
    file = tmp_path / "heard"
    async with opened(odd(case, file)) as tools:
        waiting = asyncio.create_task(call(tools))
        while not file.exists():
            await asyncio.sleep(0.01)
        monkeypatch.setattr(server, "START_S", 0.2)
        await tools.refresh()  # as F9 does
        assert {*tools.offered} == {"odd__go"}
        waiting.cancel()
        await asyncio.wait({waiting}, timeout=WAIT_S)
        assert waiting.cancelled()
        assert report(tools).state == "ready"
        while case == "Waiting" and file.read_text() != "cancelled":
            await asyncio.sleep(0.01)


async def test_a_call_without_end_is_given_up(monkeypatch, tmp_path):
    monkeypatch.setattr(server, "CALL_S", 0.2)
    async with opened(odd("Hanging", tmp_path / "heard")) as tools:
        result = await call(tools)
        assert result.state == "failed"
        assert "did not return within 0.2 s" in result.text


async def test_a_server_that_never_starts_is_not_waited_for_at_each_question(monkeypatch):
    monkeypatch.setattr(server, "START_S", 0.5)
    async with opened(odd("Silent")) as tools:
        assert "did not start within 0.5 seconds" in report(tools).reason
        monkeypatch.setattr(server, "import_module", pytest.fail)  # what a start begins with
        assert await again(tools) is None
        assert report(tools).state == "failed"


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError(errno.ENOSPC, "No space left"), "No space left"), (KeyError("x"), "(KeyError('x'))")],
)
async def test_an_error_of_any_kind_is_a_failure_and_not_waited_for(monkeypatch, error, reason):
    monkeypatch.setattr(server, "TemporaryFile", Mock(side_effect=error))
    async with asyncio.timeout(WAIT_S), opened(odd("Echoing")) as tools:
        assert reason in report(tools).reason
        assert (await again(tools), report(tools).state) == (None, "failed")


async def test_only_the_end_of_a_flood_of_errors_is_shown():
    async with opened(odd("Complaining")) as tools:
        assert (await call(tools)).text == "done"
    errors = report(tools).errors
    assert errors.endswith("the end")
    assert "\0" not in errors
    assert len(errors) <= ERROR_BYTES


async def test_arguments_that_are_no_json_never_reach_a_server():
    async with opened(odd("Echoing")) as tools:
        assert '"a":"?"' in (await call(tools, arguments='{"a": "\ud800"}')).text
        for wrong in ('{"a": "\\ud800"}', '{"a": NaN}', "[]", "{", "[" * 9999):
            result_text = (await call(tools, arguments=wrong)).text
            assert result_text == "The arguments are not a JSON object."


async def test_requests_of_a_server_are_refused():
    async with opened(odd("Asking")) as tools:
        assert (await call(tools)).text == "refused refused refused"


@pytest.mark.parametrize("is_replaced", [False, True])
@pytest.mark.parametrize("case", ["Silent", "Unlisting"])
async def test_a_server_that_is_stopped_as_it_starts_or_lists_tools_stays_off(case, is_replaced):
    tools = ToolSet(ToolSettings(servers=(odd(case, "hangs"),)))
    if case == "Unlisting":
        await tools.refresh()
    listing = asyncio.create_task(again(tools))
    await asyncio.sleep(0.01)
    while not psutil.Process().children(recursive=True):
        await asyncio.sleep(0.01)
    await (tools.use(ToolSettings(), offline=False) if is_replaced else tools.close())
    assert await listing is None
    assert not any(case in child.cmdline() for child in psutil.Process().children(recursive=True))
    assert not [each for each in tools.reports() if each.state in ("starting", "ready")]


@pytest.mark.parametrize("how", ["", " ends"])
async def test_a_process_of_a_server_ends_with_it_in_any_session(how, tmp_path, monkeypatch):
    monkeypatch.setattr("assistant.tools.session.END_S", 0.1)
    file = tmp_path / "number"
    async with opened(odd("Detaching", f"{file}{how}")) as tools:
        await call(tools)
    until(lambda: not _runs(int(file.read_text())))


PROGRAM = """
import asyncio
from tests.assistant.tools.toolboxes import odd, opened
async def main():
    async with opened(odd("Failing")):
        print("ready", flush=True)
        await asyncio.sleep(10_000)
asyncio.run(main())
"""


def test_a_server_ends_with_a_program_that_is_killed():
    """Its input ends, by which a server knows."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, stdout=subprocess.PIPE
    )
    with program:
        assert (program.stdout and program.stdout.readline()) == b"ready\n"
        servers = psutil.Process(program.pid).children(recursive=True)
        assert servers
        program.kill()
    assert psutil.wait_procs(servers, WAIT_S)[1] == []


def _runs(number: int) -> bool:
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
