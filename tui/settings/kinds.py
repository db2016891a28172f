"""The kinds of values that a key may have."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeGuard

from assistant.request import Range

Value = str | int | float | bool | tuple[str, ...]
"""A plain value, as TOML has it. Words such as `auto` stand for themselves."""

TOML_MAX = 2**63 - 1
"""The largest whole number that TOML has."""
_SPELLINGS = {"yes": True, "true": True, "on": True, "1": True}
_SPELLINGS |= {"no": False, "false": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True)
class Kind:
    """A set of values."""

    allowed: str
    """What is allowed, to follow `must be`."""
    hint: str
    """What to type, in a word, as help pages have it."""
    check: Callable[[object], Value | None]
    """Returns the value that TOML gave; None when it is not allowed."""
    parse: Callable[[str], Value | None]
    """Returns the value that was typed; None when it is not allowed."""
    word: str | None = None
    """What leaves the value open."""
    choices: tuple[str, ...] = ()
    """Words of which the value is one."""
    offers: tuple[str, ...] = ()
    """What a shell completes the value with."""
    many_lines: bool = False


def number(bounds: Range) -> Kind:
    """Return the kind of the numbers of a range."""

    def check(raw: object) -> Value | None:
        return float(raw) if _is_number(raw, int | float) and raw in bounds else None

    return Kind(f"a number {bounds}", "NUMBER", check, lambda text: check(_read(float, text)))


def whole(bounds: Range, word: str | None = None) -> Kind:
    """Return the kind of the whole numbers of a range, or a word that leaves the number open."""

    def check(raw: object) -> Value | None:
        if word is not None and raw == word:
            return word
        return raw if _is_number(raw, int) and raw in bounds else None

    def parse(text: str) -> Value | None:
        return check(word if text.strip().lower() == word else _read(int, text))

    range_ = f", {bounds.low} or more" if bounds.high == TOML_MAX else f" {bounds}"
    allowed = f"{word} or a whole number{range_}" if word else f"a whole number{range_}"
    hint, offers = (f"N|{word}", (word,)) if word else ("N", ())
    return Kind(allowed, hint, check, parse, word, offers=offers)


def choice(*words: str) -> Kind:
    """Return the kind that is one of a few words."""

    def check(raw: object) -> Value | None:
        return raw if isinstance(raw, str) and raw in words else None

    hint = "|".join(words) if len(words) < 5 else "NAME"
    return Kind(
        f"one of {', '.join(words)}",
        hint,
        check,
        lambda text: check(text.strip().lower()),
        choices=words,
        offers=words,
    )


def some_of(words: tuple[str, ...], word: str) -> Kind:
    """Return the kind that is some of a few words, with commas; or a word that leaves them open."""

    def check(raw: object) -> Value | None:
        if not isinstance(raw, str):
            return None
        found = list(dict.fromkeys(part.strip() for part in raw.split(",")))
        return ",".join(found) if found == [word] or {*found} <= {*words} else None

    allowed = f"{word}, or one or more of {', '.join(words)}"
    hint, offers = f"{word}|NAME,...", (word, *words)
    return Kind(allowed, hint, check, lambda text: check(text.lower()), word, offers=offers)


def text(word: str = "", hint: str = "TEXT", many_lines: bool = False) -> Kind:
    """Return the kind of any text; an empty one stands for `word`."""
    return Kind(
        "a text",
        hint,
        lambda raw: (raw or word) if isinstance(raw, str) else None,
        lambda text: (text if many_lines else text.strip()) or word,
        word,
        offers=(word,) if word else (),
        many_lines=many_lines,
    )


def _check_texts(raw: object) -> Value | None:
    if not isinstance(raw, list | tuple) or not all(isinstance(part, str) for part in raw):
        return None
    return tuple(raw)


FLAG = Kind(
    "true or false",
    "yes|no",
    lambda raw: raw if isinstance(raw, bool) else None,
    lambda text: _SPELLINGS.get(text.strip().lower()),
    choices=("yes", "no"),
)
FOLDERS = Kind(
    "a list of folders",
    "FOLDERS",
    _check_texts,
    lambda text: tuple(part.strip() for part in text.split(os.pathsep) if part.strip()),
)
"""A list in TOML, and elsewhere separated as in PATH."""
TEXTS = Kind("a list of texts", "TEXTS", _check_texts, lambda text: tuple(text.split()))


def shown(value: Value) -> str:
    """Return a value as it is typed and shown."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return os.pathsep.join(value)
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _is_number(raw: object, kind: Any) -> TypeGuard[int]:
    return isinstance(raw, kind) and not isinstance(raw, bool)  # which Python calls a number, too


def _read(kind: Callable[[str], float], text: str) -> float | None:
    try:
        return kind(text)
    except ValueError:
        return None
