"""The new version of an attached file is shown, written, and undone."""

from pathlib import Path

import pytest

from assistant.session.attachments import read
from assistant.store.values import Attachment
from tests.tui.chat.chat_driver import Chat, Pair, open_chat
from tui.chat.dialogs import ChangeScreen

OLD = "".join(f"line {number}\n" for number in range(8))
NEW = OLD.replace("line 3", "line three")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file.txt").write_text(OLD)


async def ask(chat: Chat, text: str = OLD) -> None:
    await chat.ready()
    chat.prompt.attached.add(Attachment("file.txt", text.rstrip("\n")))
    await chat.ask("Spell it")


async def change_shown(chat: Chat) -> str:
    """Press a on the newest turn, and return the change that is shown."""
    await chat.act("a")
    await chat.until(lambda: isinstance(chat.app.screen, ChangeScreen))
    return str(chat.app.screen.query_one("Static").render())


async def test_an_unasked_loss_is_shown_whatever_was_asked_before(pair: Pair) -> None:
    code = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(4))
    Path("file.py").write_text(code)
    async with open_chat(*pair, says=f"```py\n{code.partition('def f3')[0]}```\n") as chat:
        chat.prompt.attached.add(Attachment("file.py", code.rstrip("\n")))
        await chat.ask("Remove unused functions")
        await chat.ask("Return 7 from f0")
        assert "It loses f3." in await change_shown(chat)


async def test_it_is_shown_written_attached_and_taken_back(pair: Pair) -> None:
    async with open_chat(*pair, says=f"Here:\n\n```txt\n{NEW}```\nDone.") as chat:
        await ask(chat)
        assert any("a writes file.txt" in text for text in chat.shown(".footnote"))
        await chat.act()
        assert chat.footer["a"] == "Apply"
        shown = await change_shown(chat)
        assert shown.startswith(f"{Path('file.txt').absolute()}\n")
        assert "-line 3\n+line three" in shown
        await chat.pilot.resize_terminal(30, 10)
        (frame,) = chat.app.screen.query(".frame")
        await chat.until(lambda: frame.region == chat.app.screen.region)
        await chat.pilot.resize_terminal(80, 24)
        await chat.pilot.press("escape")
        assert Path("file.txt").read_text() == OLD
        await change_shown(chat)
        await chat.pilot.press("enter")
        await chat.until(lambda: Path("file.txt").read_text() == NEW)
        await chat.until(lambda: chat.prompt.attachments)
        (attached,) = chat.prompt.attachments
        assert (attached.name, attached.text) == ("file.txt", NEW.rstrip("\n"))
        await chat.pilot.press("u")
        assert Path("file.txt").read_text() == OLD
        (attached,) = chat.prompt.attachments
        assert (attached.name, attached.text) == ("file.txt", OLD.rstrip("\n"))


async def test_files_are_shown_one_after_another_and_taken_back_from_the_last(pair: Pair) -> None:
    names = ("/etc/x.txt", "a/new.txt", "file.txt", "b.txt")
    says = "".join(f"**{name}**\n```\n{NEW}x\n```\n" for name in names)
    async with open_chat(*pair, says=says, n_ctx=2000, max_tokens=600) as chat:
        await ask(chat)
        assert any(
            "a writes a/new.txt, file.txt, b.txt" in text for text in chat.shown(".footnote")
        )
        assert "A new file in" in await change_shown(chat)
        assert chat.notices == [
            "/etc/x.txt is outside this folder or in .git, so no answer writes it."
        ]
        for key in ("enter", "escape", "enter"):
            await chat.pilot.press(key)
        assert [Path(name).exists() for name in names] == [False, True, True, True]
        assert Path("file.txt").read_text() == OLD
        assert [file.name for file in chat.prompt.attachments] == ["a/new.txt", "b.txt"]
        await chat.pilot.press("u", "u")
        assert not any(Path(name).exists() for name in ("a", "b.txt"))
        assert not chat.prompt.attachments


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16"])
async def test_a_file_not_in_utf8_is_written_as_it_was(pair: Pair, encoding: str) -> None:
    old = OLD.replace("line 0", "“é”" if encoding == "windows-1252" else "é")
    new = old.replace("line 3", "line ü")
    Path("file.txt").write_bytes(old.encode(encoding))
    async with open_chat(*pair, says=f"```txt\n{new}```") as chat:
        await ask(chat, read(Path("file.txt")).text)
        assert "has changed" not in await change_shown(chat)
        await chat.pilot.press("enter")
        await chat.until(lambda: Path("file.txt").read_bytes() == new.encode(encoding))


@pytest.mark.parametrize("answer", ["```\nsomething else\n```", f"```\n{OLD}```"])
async def test_where_there_is_nothing_to_apply_that_is_said(pair: Pair, answer: str) -> None:
    async with open_chat(*pair, says=answer) as chat:
        await ask(chat)
        assert not any("a writes" in text for text in chat.shown(".footnote"))
        await chat.act("a")
        assert any(text.startswith("Not on this message: show the change") for text in chat.notices)


async def test_it_can_be_applied_after_the_next_start_while_the_file_is_there(pair: Pair) -> None:
    async with open_chat(*pair, says=f"```\n{NEW}```") as chat:
        await ask(chat)
        number = chat.path.conversation
    async with open_chat(*pair, says=f"```\n{NEW}```") as chat:
        await chat.press("ctrl+up")
        assert chat.footer["a"] == "Apply"
        Path("file.txt").unlink()
        await chat.press("ctrl+n")
        chat.screen.open(number)
        await chat.press("ctrl+up")
        assert "a" not in chat.footer


async def test_a_doubt_about_a_change_is_shown_with_it_and_that_it_is_not_allowed_before(
    pair: Pair,
) -> None:
    async with open_chat(*pair, says=f"```\n{NEW[:-7]}# ... rest of the file\n```") as chat:
        await ask(chat)
        Path("file.txt").write_text(f"{OLD}more\n")
        shown = await change_shown(chat)
        assert "only a fragment" in shown
        assert "changed since it was attached" in shown
        await chat.pilot.press("escape")
        Path("file.txt").chmod(0o444)
        await chat.act("a")
        assert any("it is read-only" in text for text in chat.notices)
