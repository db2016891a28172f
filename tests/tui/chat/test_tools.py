"""Tool calls in the chat: approval by keys, results, and the tools screen."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import AsyncMock, Mock

from assistant.request import ToolCall
from assistant.session.unsent_text import Unsent
from assistant.store.values import StoredMessage
from assistant.tools.server import Server
from assistant.tools.values import ServerReport, ToolResult, tool_result
from tests.assistant.session.scripted_session import READ, Box
from tests.tui.chat.chat_driver import Chat, Pair, open_chat
from tui.chat.conversation.older_turns import MAX_SHOWN
from tui.chat.conversation.tool_turns import (
    AUTOFOCUSED_KEYS,
    ELSEWHERE,
    KEYS,
    ApprovalTurn,
    ResultTurn,
)
from tui.chat.dialogs import ToolsScreen
from tui.widgets.entry_screen import EntryScreen


class Calling(Chat):
    """A chat with tools."""

    box: Box

    async def call(self, *calls: tuple[ToolCall, ...]) -> ApprovalTurn:
        """Ask for answers that ask for these, and wait until the first is asked about."""
        self.engine.script.calls = list(calls)
        await self.send("Why?")
        return await self.asked()

    async def asked(self) -> ApprovalTurn:
        """Wait until the user is asked about a call."""
        await self.until(lambda: self.asking)
        return self.asking[-1]

    async def over(self, records: int) -> None:
        """Wait until the path has so many messages, and nothing is under way."""
        await self.until(lambda: len(self.path.records) == records and self.screen.session.idle)

    @property
    def asking(self) -> list[ApprovalTurn]:
        return [turn for turn in self.screen.query(ApprovalTurn) if turn.is_attached]

    @property
    def results(self) -> list[str]:
        """The results on the screen, each in its line."""
        return [turn.line for turn in self.screen.query(ResultTurn)]


@asynccontextmanager
async def open_calling(endless: Path, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Calling]:
    """Open a chat whose tools are in memory."""
    async with open_chat(endless, max_tokens=6, n_ctx=4096, size=size) as chat:
        chat.__class__ = Calling
        assert isinstance(chat, Calling)
        chat.box = Box()
        chat.use(chat.box)
        yield chat


async def test_a_call_is_shown_runs_when_allowed_and_its_result_is_answered(endless: Path) -> None:
    async with open_calling(endless) as chat:
        chat.box.result = ToolResult("blue \x1b[31m zeppelin")
        turn = await chat.call((READ,))
        shown = "\n".join(chat.shown("ApprovalTurn Head, ApprovalTurn Static"))
        assert "Run disk__read?" in shown
        assert "path: sky.txt" in shown
        assert "From the server disk, which says that it only reads." in shown
        assert (chat.box.called, chat.focused) == ([], turn)
        await chat.press("enter")
        await chat.over(4)
        assert chat.engine.requests[1].messages[-1].content == "blue \x1b[31m zeppelin"
        (line,) = chat.results
        assert line.startswith("▸ disk__read · 19 characters · ")
        assert "zeppelin" not in "".join(chat.shown("ResultTurn Static"))
        await chat.press("ctrl+up", "up", "t")
        assert "blue ␛[31m zeppelin" in chat.shown("ResultTurn .result")
        assert [each.title for each in chat.store.summaries("zeppelin")] == ["Why?"]


async def test_a_small_screen_shows_the_first_line_of_a_call_and_leaves_a_reader_above_it_alone(
    endless: Path,
) -> None:
    async with open_calling(endless, size=(30, 10)) as chat:
        turn = await chat.call((READ,))
        view = chat.screen.conversation
        await chat.until(lambda: turn.region.height > view.region.height)
        await chat.until(lambda: view.region.y <= turn.region.y < view.region.bottom)
        await chat.until(lambda: view.scroll_y > 0)
        chat.prompt.focus()
        await chat.press("ctrl+home")
        await chat.until(lambda: view.scroll_y == 0)
        for width in (40, 30):
            await chat.pilot.resize_terminal(width, 10)
            await chat.pilot.pause(0.2)
            assert view.scroll_y == 0


def test_the_line_of_a_failed_call_has_the_reason() -> None:
    end = tool_result("It broke.\nBadly.", failed=True)
    call = StoredMessage(
        1, None, "tool", end.text, 0.0, end.state, stop=end.stop, tool_calls=(READ,)
    )
    line = "▸ disk__read · failed · It broke. Badly. · path: sky.txt"
    assert ResultTurn(call).line == line


async def test_keys_typed_for_the_prompt_approve_nothing(endless: Path, monkeypatch) -> None:
    async with open_calling(endless) as chat:
        monkeypatch.setattr("tui.chat.conversation.tool_turns.IGNORED_S", 3600.0)
        turn = await chat.call((READ,))
        for _ in range(MAX_SHOWN + 1):  # a call that waits stays, however much follows
            chat.screen.conversation.add_question(chat.path.records[0])
        await chat.press("enter", "y", "a", "escape")
        assert (chat.box.called, chat.asking) == ([], [turn])
    async with open_calling(endless) as chat:  # the user is writing when it comes up
        await chat.press("ctrl+n")
        chat.engine.script.calls = [(READ,)]
        chat.screen.controller.submit(Unsent("Why?"))
        chat.prompt.editor.text = "And"
        turn = await chat.asked()
        assert not turn.has_focus
        assert any("is waiting for you" in notice for notice in chat.notices)


async def test_an_open_call_is_asked_about_again_and_leaves_the_keys(endless: Path) -> None:
    async with open_calling(endless) as chat:
        await chat.call((READ,))
        number = chat.path.conversation
    async with open_calling(endless) as chat:
        chat.path.open(number)
        assert not (await chat.asked()).has_focus  # who opens it may be about to type
        assert chat.shown("ApprovalTurn .keys") == [ELSEWHERE]
        await chat.press("ctrl+up", "escape")
        await chat.over(4)
        assert chat.results[0].startswith("▸ disk__read · refused · path")
        await chat.press("ctrl+up", "up", "r")  # it is asked about once more, beside the refusal
        assert (await chat.asked()).has_focus
        await chat.press("y")
        await chat.over(4)
        assert len(chat.path.records[2].siblings) == 2
        assert chat.box.called == ["disk__read"]


async def test_f9_adds_a_folder_and_says_so(pair: Pair, unset_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    async with open_chat(*pair) as chat:
        await chat.press("f9", "ctrl+o")
        entry = chat.app.screen
        assert isinstance(entry, EntryScreen)
        entry.input.text = f"{folder}s"
        await chat.until(lambda: "There is no folder" in str(entry.message.render()))
        entry.input.text = str(folder)
        await chat.until(lambda: "✗" not in str(entry.message.render()))
        await chat.press("enter")
        await chat.until(lambda: chat.screen.session.tool_loop.tools.tools)
        assert chat.app.settings.tools.folders == (folder,)
        await chat.until(lambda: "It reads" in chat.text)
        await chat.press(*"zzz")
        assert "Nothing found" in chat.text
        await chat.press("escape", "escape")
        assert "tools on" in chat.text
        (unset_home / "config.toml").write_text("[tools]\n")
        await chat.press("f9", "escape")
        assert not chat.app.settings.tools
        assert "tools on" not in chat.text


async def test_a_conversation_has_no_tools_until_f9_turns_them_on(endless: Path) -> None:
    async with open_calling(endless) as chat:
        chat.use(chat.box, opt_in=True)
        await chat.ask("Why?")
        assert chat.engine.requests[-1].tools == ()
        await chat.press("ctrl+n", "f9")
        screen = chat.app.screen
        assert isinstance(screen, ToolsScreen)

        def title() -> str:
            return str(screen.query_one(".frame").border_title)

        await chat.until(lambda: "off (Ctrl+T)" in title())
        await chat.press("ctrl+t")
        assert title().endswith(": on")
        await chat.press("escape")
        await chat.call((READ,))
        assert len(chat.engine.requests[-1].tools) == 2
        await chat.press("escape")
        await chat.over(4)
        await chat.press("ctrl+n")
        await chat.ask("Why?")
        assert chat.engine.requests[-1].tools == ()


async def test_the_card_says_which_keys_work_now_and_typing_allows_nothing(endless: Path) -> None:
    async with open_calling(endless) as chat:
        await chat.call((READ,))  # it has the keys, though nobody went there
        assert chat.shown("ApprovalTurn .keys") == [AUTOFOCUSED_KEYS]
        assert list(chat.footer)[:3] == ["⏎", "esc", "f1"]
        await chat.press("a", "c", "y")
        assert (chat.prompt.text, chat.box.called, chat.asking != []) == ("acy", [], True)
        assert chat.shown("ApprovalTurn .keys") == [ELSEWHERE]
        await chat.press("ctrl+up")
        assert chat.shown("ApprovalTurn .keys") == [KEYS]
        assert list(chat.footer)[:4] == ["⏎", "c", "a", "esc"]
        await chat.pilot.click("Editor")
        assert chat.shown("ApprovalTurn .keys") == [ELSEWHERE]
        await chat.pilot.click("ApprovalTurn")
        assert chat.shown("ApprovalTurn .keys") == [KEYS]
        await chat.press("z", "a")  # no key of a call: it is typed, and all that follows
        assert (chat.prompt.text, chat.asking != []) == ("zaacy", True)  # where the click was
        await chat.press("ctrl+up", "a")
        await chat.over(4)
        assert chat.box.called == ["disk__read"]


async def test_the_screen_of_tools_says_what_is_approved_and_revokes_it(endless: Path) -> None:
    async with open_calling(endless) as chat:
        failed = ServerReport("net", "failed", "It cannot be started: \x1b[31m.", (), "last words")
        net = Mock(Server, report=lambda: failed, offered=AsyncMock(return_value=()))
        chat.screen.session.tool_loop.tools.servers["net"] = net
        await chat.call((READ,))
        assert any("cannot be started" in note for note in chat.shown("Note"))
        await chat.press("ctrl+up", "a")
        await chat.over(4)
        await chat.press("f9")
        screen = chat.app.screen
        assert isinstance(screen, ToolsScreen)

        def lines() -> list[str]:
            options = (screen.list.get_option_at_index(i) for i in range(screen.list.option_count))
            return [str(option.prompt) for option in options]

        await chat.until(lambda: len(lines()) == 4)
        assert lines() == [
            "● disk · 2 tools",
            "  disk__read · only reads · always allowed",
            "  disk__list · may change something · asks",
            "✗ net · failed",
        ]
        await chat.press("down", "delete", "end")
        assert lines()[1] == "  disk__read · only reads · asks"
        details = "It cannot be started: ␛[31m.\n\nIts messages:\nlast words"
        assert str(screen.detail.render()) == details
        net.report = lambda: ServerReport("net", "ready", "", (), "")  # while the screen is open
        await chat.until(lambda: str(screen.detail.render()) == "Ready.")
