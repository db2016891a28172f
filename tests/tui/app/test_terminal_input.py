"""Terminal input: a paste is text, never keys, with bracketed paste or without."""

from collections.abc import Iterable

import pytest
from textual import events

from tui.app.terminal_input import END, START
from tui.app.textual_private import PasteParser

EVERYTHING = "".join(map(chr, range(1, 256))) + "日本 👨‍👩‍👧‍👦 \x1b[31m\x1bOP"
LIKE_MARKS = ("\x1b[201", "\x1b[20\x1b[201", "[201~", "\x9b201~", "\x1b[0201~", "\x1b\x1b[", START)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Have no time pass but what a test adds."""
    at = [0.0]
    monkeypatch.setattr("tui.app.terminal_input.monotonic", lambda: at[0])
    return at


def events_of(parser: PasteParser, messages: Iterable[object]) -> list[tuple[str, str]]:
    return [
        (type(each).__name__, each.text if isinstance(each, events.Paste) else each.key)
        for each in messages
        if isinstance(each, events.Key | events.Paste)
    ]


def read(*chunks: str) -> list[tuple[str, str]]:
    """Return what reads of a terminal mean, and the quiet that follows."""
    parser = PasteParser()
    found: list[tuple[str, str]] = []
    for chunk in chunks:
        found += events_of(parser, [*parser.feed(chunk), *parser.tick()])
    return found + events_of(parser, [*parser.tick(), *parser.tick(), *parser.tick()])


@pytest.mark.parametrize("text", [EVERYTHING, *LIKE_MARKS, "a\r\x11\x03"], ids=ascii)
def test_a_paste_is_one_wherever_reads_cut_it(text: str) -> None:
    whole = f"{START}{text}{END}\r"
    wanted = [("Paste", text), ("Key", "enter")]
    assert read(*whole) == wanted
    for i in range(1, len(whole)):
        assert read(whole[:i], whole[i:]) == wanted, i


@pytest.mark.parametrize(
    "text", [f"a{END}\x11\rb", f"a{END}\x03{START}b", f"{END}\r", END * 3], ids=ascii
)
def test_a_mark_within_a_pasted_text_does_not_end_it(text: str) -> None:
    assert read(f"{START}{text}{END}", "\r") == [("Paste", text), ("Key", "enter")]
    assert read(START + text, END) == [("Paste", text)]


def test_five_megabytes_are_one_paste() -> None:
    text = EVERYTHING * 18_000
    whole = f"{START}{text}{END}"
    assert read(*(whole[i : i + 4095] for i in range(0, len(whole), 4095))) == [("Paste", text)]


def keys(text: str) -> list[tuple[str, str]]:
    names = {"\r": "enter", "\t": "tab", "\n": "ctrl+j"}
    return [("Key", names.get(character, character)) for character in text]


@pytest.mark.parametrize(
    ("chunks", "found"),
    [
        (["hello\r"], keys("hello\r")),
        (["\tHi\r"], keys("\tHi\r")),
        (["hello\r", "world\r"], keys("hello\rworld\r")),
        (["one\rtwo\r\rfour"], [("Burst", "one\rtwo\r\rfour")]),
        (["one\r\ntwo\r\n"], [("Burst", "one\r\ntwo"), ("Key", "enter")]),
        (["one\rtwo\r\r"], [("Burst", "one\rtwo"), ("Key", "enter")]),
        (["one\ntwo\n"], [("Burst", "one\ntwo"), ("Key", "ctrl+j")]),
        (["one\rt", "wo\r", "three"], [("Burst", "one\rtwo\rthree")]),
        (["x" * 300 + "\r", "y"], [("Burst", "x" * 300 + "\ry")]),
        (["x" * 300 + "\r"], [("Burst", "x" * 300), ("Key", "enter")]),
        (["\x1b[D", "x\r"], [("Key", "left"), *keys("x\r")]),
        (["\x1b[Ione\rtwo"], [("Burst", "one\rtwo")]),
        (["one\rtwo", "\x1b[D"], [("Burst", "one\rtwo"), ("Key", "left")]),
        (["\x1b[", "Dx\r"], [("Key", "left"), *keys("x\r")]),
    ],
    ids=ascii,
)
def test_enter_in_a_paste_is_a_line_break(chunks: list[str], found: list[tuple[str, str]]) -> None:
    assert read(*chunks) == found


def test_a_key_pressed_after_a_pause_is_no_part_of_what_came_before(clock: list[float]) -> None:
    parser = PasteParser()
    for text in (f"{START}a{END}", "one\rtwo"):
        assert events_of(parser, parser.feed(text)) == []
        clock[0] += 1
        (before, *after) = events_of(parser, parser.feed("\r"))
        assert before[0] in ("Paste", "Burst")
        assert after == keys("\r")


def test_a_paste_whose_end_never_comes_does_not_hold_the_keys_forever(clock: list[float]) -> None:
    parser = PasteParser()
    assert events_of(parser, [*parser.feed(f"{START}lost"), *parser.tick(), *parser.tick()]) == []
    clock[0] += 60
    assert events_of(parser, parser.tick()) == [("Paste", "lost")]
    assert events_of(parser, parser.feed("x")) == keys("x")


def test_text_that_trickles_in_faster_than_anyone_types_is_a_paste() -> None:
    assert read(*"one\rtwo") == [*keys("one"), ("Burst", "\rtwo")]
    assert read(*"one\r") == keys("one\r")
