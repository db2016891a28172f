"""Pasted text at a real terminal, with bracketed paste and without."""

from pathlib import Path

import pytest

from tests.terminal.terminal import DONE, READY, Terminal
from tui.app.terminal_input import END

ATTACK = "abc \x1b[31m \x11 \x03\x03 def\r\n"


@pytest.mark.parametrize(
    "text",
    [ATTACK * 40, ATTACK * 40 + END + "\x11\r" + ATTACK, ATTACK * 40_000, "\udcff\udcc3\x11" * 80],
    ids=["keys", "an end mark", "a megabyte", "no UTF-8"],
)
@pytest.mark.some(2)
def test_nothing_in_a_paste_is_a_key(tmp_path: Path, models: list[str], text: str) -> None:
    with Terminal(tmp_path, *models) as terminal:
        terminal.shows(READY)
        terminal.paste(text)
        terminal.press("and this is typed")
        terminal.shows("and this is typed")
        assert "You" not in terminal.text


def test_lines_without_marks_are_one_prompt(tmp_path: Path, models: list[str]) -> None:
    with Terminal(tmp_path, *models, "--max-tokens", "20") as terminal:
        terminal.shows(READY)
        terminal.press("line one\r@two\r\r\tline four")
        screen = terminal.shows("line four")
        rows = [row.strip("│ ") for row in screen.split("\n")[-6:-2]]
        assert rows == ["line one", "@two", "", "line four"]
        terminal.press(" and\rfive\r")
        assert terminal.shows(DONE).count("You ·") == 1


@pytest.mark.parametrize(
    ("keys", "shown", "column"),
    [
        ("한글中文日本語ABC", "한글中文日本語ABC", 19),
        ("ABC한글\x1b[D\x1b[D@", "ABC@한글", 6),
        ("x👨‍👩‍👧‍👦\x7f한\x7f", "x", 3),
        ("e̊〽️🇩🇪\x7f\x7f", "e̊", 3),
    ],
)
def test_the_cursor_is_where_the_next_letter_goes(
    tmp_path: Path, models: list[str], keys: str, shown: str, column: int
) -> None:
    with Terminal(tmp_path, *models) as terminal:
        terminal.shows(READY)
        terminal.press(keys)
        terminal.until(
            lambda screen: terminal.cursor == (column, 27) and shown in screen.replace(" ", "")
        )
