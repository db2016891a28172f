"""What servers do that they must not: bounded, refused and told, never executed unasked."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from assistant.tools import server
from assistant.tools.limits import ERROR_BYTES, PAGES, RESULT_CHARACTERS, TOOLS
from assistant.tools.toolbox import Tools
from tests.assistant.tools.boxes import HERE, call, hostile, names, opened, report
from tests.patience import WAIT_S

ROOT = HERE.parents[2]


async def test_megabytes_of_a_result_are_cut_to_what_a_context_holds():
    async with opened(hostile("Megabytes")) as tools:
        result = await call(tools)
    assert result.text == "a" * RESULT_CHARACTERS
    assert result.left_out == 3_000_000 - RESULT_CHARACTERS


@pytest.mark.parametrize("case", ["Endless", "GarbageForever", "Notifying", "Pinging", "Answering"])
async def test_a_server_that_sends_without_end_is_stopped_and_says_so(case, monkeypatch):
    monkeypatch.setattr("assistant.tools.stdio_transport.UNASKED", 200)
    async with opened(hostile(case)) as tools:
        result = await call(tools)
        assert result.failed
        assert "so it was stopped" in result.text
        assert report(tools).state == "failed"


async def test_controls_of_a_result_stay_text_without_nulls_and_half_characters():
    async with opened(hostile("Controls")) as tools:
        result = await call(tools)
    assert result.text == "\x1b]0;owned\x07 \ufffd ? \U0001f600 <|im_end|>"


async def test_what_is_no_result_is_a_failure():
    async with opened(hostile("NoResult")) as tools:
        assert "is not a result" in (await call(tools)).text
        assert report(tools).state == "ready"


async def test_a_result_that_nests_without_end_stops_its_server_instead_of_the_wait():
    async with opened(hostile("Deep")) as tools:
        assert "breaks the protocol" in (await call(tools)).text


async def test_a_failure_and_a_structured_result_are_told_as_such():
    async with opened(hostile("Failing", name="a"), hostile("Structured", name="b")) as tools:
        failed, structured = await call(tools, "a__go"), await call(tools, "b__go")
    assert (failed.text, failed.failed) == ("no such thing", True)
    assert (structured.text, structured.failed) == ('{"degrees": 20}', False)


async def test_an_endless_list_of_tools_is_read_to_a_bound():
    async with opened(hostile("Pages", name="pages"), hostile("Many", name="many")) as tools:
        pages, many = tools.reports()
    assert (len(pages.tools), len(many.tools)) == (PAGES, TOOLS)
    assert "more than" in pages.problem
    assert "more than" in many.problem


async def test_a_name_that_imitates_another_is_refused():
    async with opened(hostile("Imitating")) as tools:
        assert names(tools) == ["bad__read_file", "bad__write_file"]
        assert report(tools).tools[0].tool.description == "0"  # not the second of that name
        problem = report(tools).problem
    assert "'READ-FILE': its name imitates bad__read_file" in problem
    assert "'read_fi1e': its name imitates bad__read_file" in problem


async def test_tools_that_no_context_can_hold_are_left_out_with_the_reason():
    async with opened(hostile("Unusable")) as tools:
        assert names(tools) == ["bad__go"]
        problem = report(tools).problem
    for name, reason in {
        "long": "its description is too long",
        "deep": "its schema nests too deep",
        "wide": "its schema is too long",
    }.items():
        assert f"'{name}': {reason}" in problem


async def test_a_tool_that_changed_since_it_was_offered_is_not_called(tmp_path):
    """It died and was started again, with another description: an approval was not for that."""
    async with opened(hostile("Changing", tmp_path / "times")) as tools:
        before = report(tools).tools[0]
        assert "exit code 3" in (await call(tools)).text
        refused = await call(tools)
        assert refused.failed
        assert "is not what it was" in refused.text
        (after,) = await tools.offered()
    assert (before.tool.description, after.tool.description) == ("version 1", "version 2")
    assert before.fingerprint != after.fingerprint


async def test_a_server_that_says_its_tools_changed_is_asked_once_a_round(tmp_path):
    """However often it says so, and also while it lists them; an approval was for what it said."""
    file = tmp_path / "lists"
    async with opened(hostile("Revising", file)) as tools:
        (before,) = await tools.offered()
        assert file.read_text() == "1"
        refused = [(await call(tools)).text, (await call(tools)).text]
        (after,) = await tools.offered()
        for _ in range(3):
            assert await tools.offered() == (after,)
    assert refused[0] == "done"
    assert "is not what it was" in refused[1]
    assert after.tool.description == "version 2"
    assert before.fingerprint != after.fingerprint
    assert file.read_text() == "6"  # since its first call, at the next one and in four rounds


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("refuses", "It refused to list its tools: Why?"),
        ("hangs", "It did not list its tools within 0.2 s, so it was stopped."),
        ("ends", "It ended by itself (exit code 3)."),
    ],
)
async def test_a_server_that_does_not_list_what_changed_is_stopped(how, why, monkeypatch):
    async with opened(hostile("Unlisting", how)) as tools:
        assert (await call(tools)).text == "done"
        monkeypatch.setattr(server, "START_S", 0.2)
        assert await tools.offered() == ()
        assert (report(tools).state, report(tools).problem) == ("failed", why)
        monkeypatch.undo()
        assert [each.tool.name for each in await tools.offered()] == ["bad__go"]


async def test_a_server_that_dies_in_a_call_is_reported_and_started_again():
    async with opened(hostile("Dying")) as tools:
        result = await call(tools)
        assert result.failed
        assert "It ended by itself (exit code 3)" in result.text
        assert report(tools).state == "failed"
        assert report(tools).errors == "I am going"
        assert [each.tool.name for each in await tools.offered()] == ["bad__go"]


@pytest.mark.parametrize("case", ["Waiting", "Hanging"])
async def test_a_cancelled_call_ends_whether_its_server_listens_or_not(case, tmp_path):
    file = tmp_path / "heard"
    async with opened(hostile(case, file)) as tools:
        waiting = asyncio.create_task(call(tools))
        while case == "Waiting" and not file.exists():
            await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.wait({waiting}, timeout=WAIT_S)
        assert waiting.cancelled()
        assert report(tools).state == "ready"
        while case == "Waiting" and file.read_text() != "cancelled":
            await asyncio.sleep(0.01)


async def test_a_call_without_end_is_given_up_with_its_server(monkeypatch):
    monkeypatch.setattr(server, "CALL_S", 0.2)
    async with opened(hostile("Hanging")) as tools:
        result = await call(tools)
        assert result.failed
        assert "did not return within 0.2 s" in result.text
        assert report(tools).state == "off"
        assert await tools.offered()  # it is started again


async def test_a_server_that_never_starts_is_not_waited_for_at_each_question(monkeypatch):
    monkeypatch.setattr(server, "START_S", 0.5)
    async with opened(hostile("Silent")) as tools:
        assert "did not start within 0.5 seconds" in report(tools).problem
        monkeypatch.setattr(server, "import_module", pytest.fail)  # what a start begins with
        assert await tools.offered() == ()
        assert report(tools).state == "failed"


async def test_garbage_among_the_messages_is_told_and_passed_over():
    async with opened(hostile("Garbage")) as tools:
        assert (await call(tools)).text == "done"
        assert "[no message] Starting up!" in report(tools).errors


async def test_only_the_end_of_a_flood_of_errors_is_kept():
    async with opened(hostile("Complaining")) as tools:
        assert (await call(tools)).text == "done"
        errors = report(tools).errors
    assert errors.endswith("the end")
    assert "\0" not in errors
    assert len(errors) <= ERROR_BYTES


async def test_half_characters_of_a_model_do_not_end_a_server():
    async with opened(hostile("Echoing")) as tools:
        assert '"a":"?"' in (await call(tools, arguments='{"a": "\\ud800"}')).text
        assert (
            await call(tools, arguments='{"a": NaN}')
        ).text == "The arguments are not a JSON object."


async def test_a_server_without_tools_is_no_failure():
    async with opened(hostile("Toolless")) as tools:
        assert (report(tools).state, report(tools).problem) == ("ready", "It has no tools.")


async def test_what_a_server_asks_for_is_refused():
    async with opened(hostile("Asking")) as tools:
        assert (await call(tools)).text == "refused refused refused"


async def test_closing_ends_a_server_that_does_not_want_to_and_what_it_started(tmp_path):
    async with opened(hostile("Stubborn", tmp_path / "ids")):
        ids = [int(each) for each in (tmp_path / "ids").read_text().split()]
        assert all(map(_runs, ids))
    assert not any(map(_runs, ids))


async def test_what_a_server_started_ends_with_it(tmp_path):
    async with opened(hostile("Leaving", tmp_path / "id")) as tools:
        assert (await call(tools)).failed
        assert not _runs(int((tmp_path / "id").read_text()))


async def test_closing_while_a_server_starts_ends_it(tmp_path):
    tools = Tools([hostile("Silent")])
    starting = asyncio.create_task(tools.offered())
    while not (found := psutil.Process().children(recursive=True)):
        await asyncio.sleep(0.01)
    await tools.close()
    assert await starting == ()
    assert not any(_runs(each.pid) for each in found)
    assert report(tools).state == "off"


PROGRAM = """
import asyncio, sys
from tests.assistant.tools.boxes import hostile, opened
async def main():
    async with opened(hostile("Stubborn", sys.argv[1])):
        print("ready", flush=True)
        await asyncio.sleep(10_000)
asyncio.run(main())
"""


def test_a_killed_program_leaves_no_server_and_nothing_that_it_started(tmp_path):
    file = tmp_path / "ids"
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(file)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    with program:
        assert program.stdout.readline() == b"ready\n"
        ids = [int(each) for each in file.read_text().split()]
        assert all(map(_runs, ids))
        program.send_signal(signal.SIGKILL)
    until = time.monotonic() + WAIT_S
    while any(map(_runs, ids)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(_runs, ids))


def _runs(number: int) -> bool:
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
