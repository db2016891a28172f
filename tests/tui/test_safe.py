import unicodedata

import pytest

from tui.safe import bug_report, safe

BIDI = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
FORBIDDEN = [
    *(code for code in range(0x20) if chr(code) not in "\n\t"),
    *range(0x7F, 0xA0),
    *BIDI,
    0x2028,
    0x2029,
    *range(0xD800, 0xE000),
    0xFDD0,
]
ATTACKS = [
    "\x1b]52;c;cm0gLXJmIH4=\x07", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x1bP+q544e\x1b\\",
    "\x1b[?1049l", "\x9b2J\x9d0;x\x9c", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
    "\r\x1b[2Koverwritten", "a\u202egpj.exe", "line\u2028break", "lone \ud800 surrogate",
]  # fmt: skip


def test_a_character_that_could_command_a_terminal_becomes_one_visible_glyph():
    for code in FORBIDDEN:
        glyph = safe(chr(code))
        assert len(glyph) == 1, hex(code)
        assert unicodedata.category(glyph) == "So", hex(code)
        glyph.encode()


@pytest.mark.parametrize(
    "text",
    ["", "plain", "tab\tand\nline", "naïve 日本語 🙂 e\u0301", "שלום", "[bold]not markup[/]"],
)
def test_ordinary_text_is_left_alone(text):
    assert safe(text) == text


@pytest.mark.parametrize("attack", ATTACKS)
def test_splitting_a_sequence_defeats_nothing(attack):
    for at in range(len(attack) + 1):
        assert safe(attack[:at]) + safe(attack[at:]) == safe(attack)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "Memory ran out"),
        (RuntimeError("can't start new thread"), "No thread can be started"),
        (FileNotFoundError(2, "No such file or directory"), "The current folder is gone"),
        (PermissionError(1, "Operation not permitted", "/a"), "/a cannot be used: Operation not"),
        (FileNotFoundError(2, "No usable temporary directory found"), "This is a bug"),
    ],
)
def test_a_machine_that_lacks_something_is_no_bug(error, words):
    assert bug_report(error).startswith(words)
