"""Answers with JSON in the chat, by a schema file."""

import json
from pathlib import Path

import pytest

from assistant.events import Finished
from tests.tui.chat.chat_driver import Chat, Pair, open_chat
from tui.chat.prompt.prompt import CHOOSING

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 4}, "ok": {"type": "boolean"}},
    "required": ["name", "ok"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "person.json").write_text(json.dumps(SCHEMA))


async def choose(chat: Chat, name: str) -> None:
    """Pick a file as the form of the answers."""
    await chat.press("f7", *name)
    await chat.until(lambda: chat.prompt.picker.searched == name)
    await chat.press("enter")


async def test_answers_have_the_form_of_a_file_until_it_is_wanted_no_more(pair: Pair) -> None:
    async with open_chat(*pair, max_tokens=60) as chat:
        chat.prompt.editor.text = "Who? "
        await choose(chat, "pers")
        assert chat.prompt.border_title == "JSON by person.json: name, ok"
        assert chat.prompt.text == "Who? "
        for _ in range(2):
            await chat.ask("Who?")
            assert set(json.loads(chat.texts[-1])) == {"name", "ok"}
        await chat.press("f7")
        assert chat.prompt.border_title == ""
        await chat.ask("Who?")
        assert chat.engine.received(Finished)[-1].stats.masked_rows == 0


async def test_a_file_without_a_usable_schema_is_refused_and_never_on(pair: Pair) -> None:
    async with open_chat(*pair) as chat:
        for text in ("{", "[]", '{"type": "nonsense"}', '{"pattern": "("}', "a\0b"):
            Path("wrong.json").write_text(text)
            chat.app.clear_notifications()
            await choose(chat, "wrong")
            notices = "".join(chat.notices)
            assert "cannot be used" in notices or "is not text" in notices
            assert (chat.prompt.constraint, chat.prompt.border_title) == (None, "")
        for leaves in ("escape", "f7"):
            await chat.press("f7", "x", leaves)
            assert (chat.prompt.text, chat.prompt.picker.display) == ("", False)
        Path("right.json").write_text('{"type": "object"}')
        await choose(chat, "right")
        assert (chat.prompt.border_title, chat.notices) == ("JSON by right.json", [])


async def test_where_no_schema_file_matches_enter_sends_nothing(pair: Pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.press("f7")
        await chat.until(lambda: chat.prompt.border_title == CHOOSING)
        await chat.press("z", "q")
        await chat.until(lambda: chat.prompt.picker.searched == "zq")
        await chat.press("enter")
        assert (chat.prompt.border_title, chat.texts) == ("", [])
        assert chat.prompt.text == "@zq"
        await chat.press("escape")
        assert chat.prompt.text == ""
