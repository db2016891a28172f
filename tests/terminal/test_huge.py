"""Huge input, answers without an end, and long conversations: the app stays alive and usable."""

import os
import select
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.terminal.terminal import ESCAPE, Terminal, opened


def paste(terminal: Terminal, text: str) -> float:
    """Paste as a terminal does, reading what the app writes meanwhile; return how long it took."""
    began, data = time.monotonic(), memoryview(f"\x1b[200~{text}\x1b[201~".encode())
    while data:
        if select.select([], [terminal.master], [], 0.05)[1]:
            data = data[os.write(terminal.master, data[:2000]) :]
        terminal.read(0)
    return time.monotonic() - began


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (lambda: "x" * 1_000_000, "1.0 MB"),
        (lambda: "line\n" * 100_000, "500.0 kB"),
        (lambda: "word " * 2_100_000, "10,500,000 characters"),
        (lambda: "\x07\x9b\u202e\ufffd" * 100_000, "pasted text"),
    ],
    ids=["one line of a megabyte", "100,000 lines", "10 MB", "no text"],
)
@pytest.mark.some(2)
def test_a_huge_paste_is_attached_or_refused_with_its_size(
    tmp_path: Path, models: list[str], text: Callable[[], str], says: str
) -> None:
    with opened(tmp_path, *models, "--max-tokens", "20", size=(120, 30)) as terminal:
        terminal.shows("ready")
        took, began = paste(terminal, text()), time.monotonic()
        terminal.shows(says)
        print(f"pasted in {took:.2f} s, {time.monotonic() - began:.2f} s later on the screen")
        terminal.press("still here")
        terminal.shows("still here")
        terminal.quit()
        assert b"bug" not in terminal.seen


def test_a_huge_prompt_that_is_sent_is_answered_with_a_sentence(
    tmp_path: Path, models: list[str]
) -> None:
    with opened(tmp_path, *models, "--max-tokens", "20", size=(120, 30)) as terminal:
        terminal.shows("ready")
        paste(terminal, "word " * 300_000)
        terminal.shows("pasted text")
        terminal.press("read this\r")
        terminal.shows("there is room for")
        terminal.press(ESCAPE)
        terminal.quit()
