"""The prompt, by its keys."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.session.attachments import LIMIT
from assistant.session.unsent_text import Unsent, from_json
from tests.tui.chat.prompt_driver import at_the_prompt
from tui.chat.prompt.editor import MAX_CHARACTERS, MAX_LINES, InputHistory


@pytest.mark.parametrize("key", ["ctrl+j", "alt+enter", "shift+enter"])
async def test_new_line_keys_do_not_send(key: str) -> None:
    async with at_the_prompt() as typist:
        await typist.pilot.press("a", key, "b")
        assert typist.prompt.text == "a\nb"
        assert typist.app.sent == []


async def test_enter_sends_what_is_not_blank_and_makes_room() -> None:
    async with at_the_prompt() as typist:
        await typist.pilot.press("space", "enter", "ctrl+j", "enter")
        assert typist.app.sent == []
        typist.prompt.drop()
        await typist.type("one\ntwo")
        await typist.pilot.press("enter")
        assert [sent.text for sent in typist.app.sent] == ["one\ntwo"]
        assert typist.prompt.text == ""


# History


async def test_arrows_go_through_what_was_sent() -> None:
    async with at_the_prompt() as typist:
        typist.prompt.history.load(["first"])
        await typist.type("second")
        await typist.pilot.press("enter", "up")
        assert typist.prompt.text == "second"
        await typist.pilot.press("up")
        assert typist.prompt.text == "first"
        await typist.pilot.press("up", "down")
        assert typist.prompt.text == "second"
        await typist.pilot.press("down")
        assert typist.prompt.text == ""
        assert typist.prompt.history.entries == ["first", "second"]
        await typist.type("unsent")
        await typist.pilot.press("up")
        assert typist.prompt.typed.text == "unsent"  # what survives meanwhile
        await typist.pilot.press("x", "up", "y")
        assert typist.prompt.typed.text == "firsty"
        await typist.pilot.press("down", "down")
        assert typist.prompt.text == "unsent"
        await typist.pilot.press("up")
        assert typist.prompt.text == "secondx"
        await typist.pilot.press("enter", "up", "up")
        assert typist.prompt.text == "second"


async def test_up_moves_through_wrapped_and_many_lines_before_it_recalls() -> None:
    async with at_the_prompt() as typist:
        typist.prompt.history.load(["earlier"])
        typist.prompt.editor.text = "word " * 40  # three lines as shown
        typist.prompt.editor.move_cursor(typist.prompt.editor.document.end)
        await typist.pilot.press("up", "up")
        assert typist.prompt.text.startswith("word")
        await typist.pilot.press("up")
        assert typist.prompt.text == "earlier"
        typist.prompt.history.load(["first", "a\nb\nc"])
        await typist.pilot.press("up", "up")
        assert typist.prompt.text == "first"


@given(
    entries=st.lists(st.text("ab\n", max_size=3)),
    moves=st.lists(st.tuples(st.sampled_from([1, -1]), st.text("ab\n", max_size=3))),
    unsent=st.text("ab\n", max_size=3),
)
def test_history_loses_no_text(
    entries: list[str], moves: list[tuple[int, str]], unsent: str
) -> None:
    history, back, texts = InputHistory(entries), 0, {0: unsent}
    for steps, typed in moves:
        texts[back] = texts.get(back, entries[-back] if back else "") + typed
        text = history.step(steps, texts[back])
        if text is not None:
            back += steps
            assert text == texts.get(back, entries[-back] if back else "")
        else:
            assert not 0 <= back + steps <= len(entries)


# Pasting


@pytest.mark.parametrize("text", ["x" * (MAX_CHARACTERS + 1), "\n" * MAX_LINES])
async def test_long_pastes_become_attachments(text: str) -> None:
    async with at_the_prompt() as typist:
        await typist.type("Why? ")
        await typist.paste(text)
        await typist.pilot.press("enter")
        (sent,) = typist.app.sent
        assert sent.text == "Why? "
        assert [attachment.text for attachment in sent.attachments] == [text]
        assert typist.chips == ()


async def test_pasted_megabyte_says_how_much_it_is_and_leaves_the_text_short() -> None:
    async with at_the_prompt() as typist:
        await typist.paste("word " * 200_000)
        assert "pasted text" in typist.row
        assert "1 MB · ≈ 250,000 tokens" in typist.row
        assert typist.prompt.text == ""
        assert typist.app.wanted == []  # counting that many would hold up answers
        await typist.paste("x" * 5000)
        assert [chip.attachment.name for chip in typist.chips] == ["pasted text", "pasted text 2"]
        await typist.paste("x" * (LIMIT + 1))
        assert len(typist.chips) == 2
        assert "10,000,001 characters; 10,000,000 fit" in typist.notices[0]
        await typist.type("why?")
        typist.prompt.drop()
        assert (typist.prompt.text, typist.prompt.attachments) == ("", ())
        assert typist.prompt.history.entries == []


async def test_short_pastes_are_edited_and_command_no_terminal() -> None:
    async with at_the_prompt() as typist:
        no_paths = "/", "~/", "tests", "/nowhere/x", "it's", "/etc /etc", "http://["
        for text in ("x" * MAX_CHARACTERS, "\n" * (MAX_LINES - 1), "a\r\nb\rc", *no_paths):
            await typist.paste(text)
            assert typist.prompt.text == text.replace("\r\n", "\n").replace("\r", "\n")
            typist.prompt.drop()
        await typist.paste("a\x1b]52;c;eA==\x07b\u202e")
        assert typist.prompt.text == "a␛]52;c;eA==␇b\ufffd"


@pytest.mark.parametrize(
    "form", ["{}", "'{}'", '"{}" ', "file://{}", "file://localhost{}\r\n", "\\{}"]
)
async def test_a_dropped_file_is_attached(tmp_path: Path, form: str) -> None:
    (tmp_path / "é.txt").write_text("x")
    async with at_the_prompt() as typist:
        await typist.paste(form.format(tmp_path / ("%C3%A9.txt" if ":" in form else "é.txt")))
        await typist.type("Why? ")
        await typist.paste(f"{tmp_path}")
        await typist.until(lambda: len(typist.chips) == 2)
        assert typist.prompt.text == f"Why? {tmp_path} "
        names = [attachment.name for attachment in typist.prompt.attachments]
        assert names == [f"{tmp_path}/é.txt", f"{tmp_path}/"]


# What survives


async def test_more_lines_than_the_prompt_shows_are_undone_and_redone() -> None:
    lines = "\n".join(map(str, range(20)))
    async with at_the_prompt() as typist:
        editor = typist.prompt.editor
        await typist.paste(lines)
        assert editor.show_vertical_scrollbar
        await typist.pilot.press("ctrl+z")
        assert typist.prompt.text == ""
        await typist.pilot.press("super+y")
        assert (typist.prompt.text, editor.cursor_location) == (lines, (19, 2))
        editor.select_all()
        await typist.pilot.press("delete", "ctrl+z")
        assert typist.prompt.text == lines
        editor.move_cursor((19, 0))
        await typist.pilot.press("ctrl+shift+z")
        assert typist.prompt.text == ""


@pytest.mark.parametrize(
    "state", ["", "null", "3", "{}", '{"text": 1}', '{"text": "", "attachments": [["a"]]}', "\x00"]
)
def test_state_that_is_invalid_is_empty(state: str) -> None:
    assert from_json(state) == (Unsent(""), ())


async def test_a_prompt_returns_before_what_was_begun_a_failed_one_not_and_a_book_as_a_file() -> (
    None
):
    async with at_the_prompt() as typist:
        await typist.paste("long " * 1000)
        attachments = typist.prompt.attachments
        await typist.type("why?")
        await typist.pilot.press("enter")
        assert typist.prompt.restore_input("why?", attachments)
        assert (typist.prompt.text, typist.prompt.attachments) == ("why?", attachments)
        assert not typist.prompt.restore_input("other")
        typist.prompt.insert(Unsent("Who?"))
        assert typist.prompt.text == "Who?\nwhy?"
        typist.prompt.drop()
        book = "".join(random.Random(1).choices("abc \n", k=100_000))
        assert typist.prompt.restore_input(book)
        assert typist.prompt.text == ""
        assert typist.prompt.attachments[0].text == book
