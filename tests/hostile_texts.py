"""Texts as somebody would write them who means to command a terminal, and what got there."""

import json
import random
import re
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path

from tests.patience import ALL

MARK = "7741"
"""A number in every payload, so that a sequence of the app's own is never taken for one."""
BIDI = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
SEPARATORS = [0x2028, 0x2029]
C0 = [code for code in range(0x20) if chr(code) not in "\n\t"]
C1 = range(0x80, 0xA0)
COMMANDS = [*C0, 0x7F, *C1, *BIDI, *SEPARATORS, *range(0xD800, 0xD810)]
SURROGATES = re.compile("[\ud800-\udfff]")

FAMILIES: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("hostile_texts.json").read_text()
)
"""Patterns of payloads by their kind; {m} stands for the mark."""

Make = Callable[[random.Random], str]


def texts(count: int, seed: int = 1) -> list[str]:
    """Return different payloads of every family; the same seed makes the same ones."""
    dice = random.Random(seed)
    seen: dict[str, None] = {}
    families: list[Make] = [
        _osc,
        _csi,
        _strings,
        lambda dice: "\x1b" + dice.choice(FAMILIES["short"]) + MARK,
        lambda dice: f"{MARK}{chr(dice.choice(COMMANDS))}{MARK}",
        _bidi,
        lambda dice: _filled(dice, FAMILIES["markup"]),
        lambda dice: _filled(dice, FAMILIES["markdown"]),
        _odd,
        _mixed,
    ]
    for number, family in enumerate(cycle(families)):
        text = f"q{number}{family(dice)}z"  # all alike families still differ
        seen[text] = None
        if len(seen) == count:
            break
    return list(seen)


def share(default: int, whole: int = 2000, seed: int = 1) -> list[str]:
    """Return the whole of them when SPECCHAT_TEST_ALL is set, else a part with every family."""
    every = texts(whole, seed)
    return every if ALL else every[: -(-default // 10) * 10]


def valid(text: str) -> str:
    """Return the text as files and pipes can hold it."""
    return SURROGATES.sub("\ufffd", text)


def quoted(value: object) -> str:
    """Return a value as TOML has it."""
    text = valid(value) if isinstance(value, str) else value
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def batches(some: list[str], size: int) -> Iterator[list[str]]:
    rest = iter(some)
    while batch := list(islice(rest, size)):
        yield batch


# Whatever the app and the libraries below it emit on purpose, and nothing else.
OWN = re.compile(
    r"\x1b\[[\d;:]*m|\x1b\[\d+;\d+H|\x1b\[\?[\d;]+[hl]|\x1b\[[<>]\d*u|\x1b\[\?u"
    r"|\x1b\[\?[\d;]+\$p|\x1b\[(?:\d*[ABCDGJK]|\d+(?:;\d+)*t)|\x1b\[c|\x1b\]22;[a-z-]*\x07"
    r"|\x1b\]52;c;[A-Za-z\d+/=]*\x07|\r\n|\n"  # what was copied
)
LEFT = re.compile("[" + "".join(re.escape(chr(code)) for code in COMMANDS) + "]")


def leaks(seen: bytes, *, spins: bool = False) -> list[str]:
    """Return what reached the terminal that could command it and is not the app's own.

    What spins or counts on one line of its own goes back to the start of that line.
    """
    text = seen.decode("utf-8")  # strictly: a byte on its own would be one of eight-bit controls
    if spins:
        text = re.sub(rf"\r(?!{MARK})", "", text)
    marked = [own for own in OWN.findall(text) if MARK in own]
    rest = OWN.sub("", text)
    return marked + [rest[max(0, at - 20) : at + 30] for at in map(_start, LEFT.finditer(rest))]


def _start(match: re.Match[str]) -> int:
    return match.start()


def _filled(dice: random.Random, patterns: list[str]) -> str:
    return dice.choice(patterns).replace("{m}", MARK)


def _osc(dice: random.Random) -> str:
    ends = [("\x1b]", "\x07"), ("\x1b]", "\x1b\\"), ("\x9d", "\x9c"), ("\x1b]", "")]
    begin, end = dice.choice(ends)
    return begin + _filled(dice, FAMILIES["osc"]) + end


def _csi(dice: random.Random) -> str:
    return dice.choice(["\x1b[", "\x9b", "\x1b\x1b["]) + _filled(dice, FAMILIES["csi"])


def _strings(dice: random.Random) -> str:
    body = _filled(dice, FAMILIES["strings"])
    eight = chr(ord(body[0]) + 0x40) + body[1:]
    return dice.choice(["\x1b" + body, eight]) + dice.choice(["\x1b\\", "\x9c", ""])


def _bidi(dice: random.Random) -> str:
    begin, end = chr(dice.choice(BIDI)), chr(dice.choice([*BIDI, *SEPARATORS]))
    return f"invoice{begin}gpj.{MARK}{end}exe"


def _odd(dice: random.Random) -> str:
    return dice.choice(
        [
            "a" + "".join(chr(dice.randint(0x300, 0x36F)) for _ in range(dice.randint(5, 200))),
            "\u200b\u200c\u200d\u2060\ufeff" * dice.randint(1, 20) + MARK,
            "".join(chr(0xE0000 + ord(letter)) for letter in f"hidden {MARK}"),
            "x" * dice.randint(500, 1500) + "\x1b[" + MARK + "m",
            "\U0001f468\u200d\U0001f469\u200d\U0001f467" * dice.randint(1, 9),
            "\ud83d" + MARK + "\ude00",
            "\tq\t" * dice.randint(1, 9) + "\r" + MARK,
            "\ufdd0\uffff\U0010ffff" + MARK,
        ]
    )  # fmt: skip


def _mixed(dice: random.Random) -> str:
    letters = [*map(chr, COMMANDS), *"0123456789;[]?PX^_mHJK", "[", "]", "\x1b", "\x9b"]
    return "".join(dice.choice(letters) for _ in range(dice.randint(4, 30))) + MARK
