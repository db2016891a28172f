"""Calls of tools in the chat: shown, allowed or refused, run, kept, and answered."""

from pathlib import Path

import pytest

from assistant.tools.values import ToolResult
from tests.tui.chat.calling import LIST, READ, WIPE, open_calling
from tests.tui.chat.chat_driver import open_chat
from tui.chat.tools.screen import ToolsScreen

OTHER = type(READ)("disk__format", "{}", "call_9")


async def test_a_call_is_shown_runs_when_it_is_allowed_and_its_result_is_answered(
    endless: Path, home: Path
) -> None:
    async with open_calling(endless, home) as chat:
        chat.script((READ,))
        await chat.send("Why?")
        turn = await chat.asked()
        shown = "\n".join(chat.shown("ApprovalTurn Static"))
        assert "May disk__read be called?" in shown
        assert "path: sky.txt" in shown
        assert "The server disk says that it only reads." in shown
        assert (chat.box.called, chat.focused) == ([], turn)
        await chat.press("enter")
        await chat.over(4)
        assert chat.box.called == [READ]
        assert chat.roles == "uata"
        assert [tool.name for tool in chat.engine.requests[0].tools] == [
            "disk__read", "disk__list", "disk__wipe",
        ]  # fmt: skip
        *_, asked, result = chat.engine.requests[1].messages
        assert (asked.calls, asked.role) == ((READ,), "assistant")
        assert (result.role, result.call_id, result.content) == (
            "tool", "call_1", "blue \x1b[31m zeppelin",
        )  # fmt: skip
        (line,) = chat.results
        assert line.startswith("▸ disk__read · 19 characters · ")
        assert "zeppelin" not in "".join(chat.shown("ResultTurn Static"))
        await chat.press("ctrl+up", "up", "t")
        assert "blue ␛[31m zeppelin" in chat.shown("ResultTurn .result")
        assert [each.title for each in chat.store.summaries("zeppelin")] == ["Why?"]


async def test_keys_that_were_meant_for_something_else_allow_nothing(
    endless: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_calling(endless, home) as chat:
        monkeypatch.setattr("tui.chat.tools.approval_turn.DEAF_S", 3600.0)
        chat.script((READ,), (READ,))
        await chat.send("Why?")
        turn = await chat.asked()
        await chat.press("enter", "y", "a", "escape")
        assert (chat.box.called, chat.asking) == ([], [turn])
    async with open_calling(endless, home) as chat:  # the user is writing when it comes up
        await chat.press("ctrl+n")
        chat.script((READ,))
        chat.screen.controller.say("Why?", ())
        chat.prompt.text = "And"
        turn = await chat.asked()
        assert not turn.has_focus
        assert any("waits to be allowed" in told for told in chat.told)


async def test_esc_ends_a_running_call_which_is_kept_and_n_goes_on(
    endless: Path, home: Path
) -> None:
    async with open_calling(endless, home) as chat:
        chat.script((WIPE,))
        await chat.send("Why?")
        await chat.asked()
        assert "may change or send something" in "".join(chat.shown("ApprovalTurn .access"))
        await chat.press("y")
        await chat.until(lambda: chat.box.called)
        kept = chat.store.path(chat.path.conversation or 0)
        assert (kept[-1].role, kept[-1].state) == ("tool", "streaming")
        await chat.press("escape")
        await chat.over(3)
        assert chat.box.cancelled == [WIPE]
        assert "stopped" in chat.results[0]
        await chat.press("ctrl+up", "n")
        await chat.over(4)
        assert "stopped this call" in chat.engine.requests[-1].messages[-1].content


async def test_an_open_call_is_asked_about_again_and_typing_goes_on_without_it(
    endless: Path, home: Path
) -> None:
    async with open_calling(endless, home) as chat:
        chat.script((READ,))
        await chat.send("Why?")
        await chat.asked()
        choice, number = chat.screen.talk.calls.tools, chat.path.conversation
        choice.approvals.allow(chat.asking[0].tool, "always", number or 0)
    async with open_calling(endless, home) as chat:
        chat.path.open(number)  # the tools are there by now
        turn = await chat.asked()
        assert (turn.call, chat.box.called) == (READ, [])
        await chat.send("Never mind.")
        await chat.over(5)
        assert chat.roles == "uatua"
        assert not chat.asking
        store = chat.store
        store.drop(chat.path.records[2].id)
        chat.path.open(number)
        assert not (await chat.asked()).has_focus  # who opens it may be about to type
        await chat.press("ctrl+up", "y")
        await chat.over(4)
        assert chat.roles == "uata"


async def test_a_call_runs_again_as_a_branch(endless: Path, home: Path) -> None:
    async with open_calling(endless, home) as chat:
        chat.script((READ,))
        await chat.send("Why?")
        await chat.asked()
        await chat.press("c")
        await chat.over(4)
        chat.box.result = ToolResult("green")
        await chat.press("ctrl+up", "up", "r")
        await chat.asked()
        await chat.press("y")
        await chat.over(4)
        assert chat.path.records[2].content == "green"
        assert len(chat.path.records[2].siblings) == 2


async def test_the_screen_of_tools_says_what_is_approved_and_revokes_it(
    endless: Path, home: Path
) -> None:
    async with open_calling(endless, home) as chat:
        chat.box.problem = "It cannot be started: \x1b[31m."
        chat.script((READ,), (READ,))
        await chat.send("Why?")
        await chat.asked()
        await chat.press("a")
        await chat.over(6)
        await chat.press("f9")
        screen = chat.app.screen
        assert isinstance(screen, ToolsScreen)

        def lines() -> list[str]:
            options = (screen.list.get_option_at_index(i) for i in range(screen.list.option_count))
            return [str(option.prompt) for option in options]

        await chat.until(lambda: len(lines()) == 5)
        assert lines()[0] == "● disk · 3 tools"
        assert lines()[1] == "  disk__read · only reads · always allowed"
        assert lines()[3] == "  disk__wipe · may change something · asks"
        assert lines()[4] == "✗ net · failed"
        await chat.press("down", "x", "down", "space", "end")
        assert lines()[1] == "  disk__read · only reads · asks"
        assert lines()[2] == "  disk__list · only reads · asks · off here"
        assert str(screen.detail.render()) == (
            "It cannot be started: ␛[31m.\n\nIt wrote:\nits last words"
        )
        await chat.press("escape")
        chat.script((READ,), (LIST,))
        await chat.send("And?")
        await chat.asked("read")
        assert [tool.name for tool in chat.engine.requests[-1].tools] == [
            "disk__read",
            "disk__wipe",
        ]
        await chat.press("y")
        await chat.until(lambda: "There is no tool disk__list" in " ".join(chat.said))


async def test_without_tools_the_key_says_how_to_get_some(endless: Path) -> None:
    async with open_chat(endless) as chat:
        await chat.ready()
        await chat.press("f9")
        assert any("[tools]" in told for told in chat.told)
