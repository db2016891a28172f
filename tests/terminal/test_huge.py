"""Huge input, answers without an end, and long conversations: the app stays alive and usable."""

import os
import select
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from assistant.store.store import Store
from tests.patience import ALL, WAIT_S
from tests.terminal.terminal import ESCAPE, Terminal, opened

TURNS = 200 if ALL else 60


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


@pytest.mark.thorough
def test_two_hundred_turns_in_a_small_context(tmp_path: Path, models: list[str]) -> None:
    told = [*models[:4], "--ctx", "512", "--temperature", "14", "--system", "Be brief."]
    with opened(tmp_path, *told, "--max-tokens", "8", size=(80, 24)) as terminal:
        terminal.shows("ready")
        for number in range(TURNS):
            terminal.press(f"Question {number}, which has some words\r")
            answered(tmp_path, terminal, number + 1)
        terminal.quit()
    store = Store(tmp_path / "home" / "chats.db")
    (summary,) = store.summaries()
    records = store.path(summary.id)
    assert len(records) == 2 * TURNS
    assert all(record.content and record.state != "failed" for record in records)
    store.close()


def answered(home: Path, terminal: Terminal, number: int) -> None:
    """Wait until the store has this many finished answers."""
    deadline = time.monotonic() + WAIT_S
    while ended(home / "home" / "chats.db") < number:
        assert terminal.process.poll() is None, terminal.text
        assert time.monotonic() < deadline, terminal.text
        terminal.read()


def ended(path: Path) -> int:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        (count,) = database.execute(
            "SELECT count(*) FROM message WHERE role = 'assistant' AND state <> 'streaming'"
        ).fetchone()
    return int(count)
