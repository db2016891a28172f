"""Answers with JSON in the chat, by a schema that a file holds."""

import json
from pathlib import Path

from assistant.events import Finished
from tests.tui.chat.chat_driver import Chat, Pair, open_chat
from tui.widgets.entry_screen import EntryScreen

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 4}, "ok": {"type": "boolean"}},
    "required": ["name", "ok"],
    "additionalProperties": False,
}


async def choose(chat: Chat, name: str) -> None:
    """Name a file as the form of the answers."""
    await chat.pilot.press("f7")
    screen = chat.app.screen
    assert isinstance(screen, EntryScreen)
    screen.input.text = name
    await chat.pilot.press("enter")


async def test_answers_have_the_form_of_a_file_until_it_is_wanted_no_more(
    pair: Pair, tmp_path: Path
) -> None:
    file = tmp_path / "person.json"
    file.write_text(json.dumps(SCHEMA))
    async with open_chat(*pair, max_tokens=60) as chat:
        await chat.ready()
        await choose(chat, str(file))
        assert "JSON by" in str(chat.prompt.border_title)
        for _ in range(2):
            await chat.ask("Who?")
            assert set(json.loads(chat.said[-1])) == {"name", "ok"}
        await chat.pilot.press("f7")
        assert chat.prompt.border_title == ""
        await chat.ask("Who?")
        assert chat.engine.heard(Finished)[-1].stats.masked_rows == 0


async def test_a_file_that_cannot_be_read_or_used_is_said_and_nothing_is_lost(
    pair: Pair, tmp_path: Path
) -> None:
    async with open_chat(*pair, max_tokens=60) as chat:
        await chat.ready()
        missing = str(tmp_path / "nowhere.json")
        await choose(chat, missing)
        entry = chat.app.screen
        assert isinstance(entry, EntryScreen)  # with the path, to be corrected
        assert entry.input.text == missing
        assert "nowhere.json cannot be read" in str(entry.message.render())
        await chat.pilot.press("escape")
        assert chat.screen.controller.form is None
        wrong = tmp_path / "wrong.json"
        wrong.write_text("{")
        await choose(chat, str(wrong))
        await chat.ask("Who?")
        assert "The schema cannot be used" in " ".join(chat.shown("Note"))
        assert chat.prompt.text == "Who?"


async def test_an_answer_that_is_cut_in_mid_form_is_said_to_be(pair: Pair, tmp_path: Path) -> None:
    file = tmp_path / "person.json"
    file.write_text(json.dumps(SCHEMA))
    async with open_chat(*pair, max_tokens=3) as chat:
        await chat.ready()
        await choose(chat, str(file))
        await chat.ask("Who?")
        assert "ended before it had its form" in " ".join(chat.shown("Note"))
