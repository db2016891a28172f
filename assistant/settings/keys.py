"""A key of the settings, and how its value is checked, parsed and shown."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant.request import Range
from models.files.places import expand_user

Value = str | int | float | bool | tuple[str, ...]
"""A plain value, as TOML has it. Words such as `auto` stand for themselves."""
Values = Mapping[str, Value]

UNLIMITED = 2**63 - 1  # the largest whole number that TOML has
ROUND, ANSWER = "with the next tokens", "with the next answer"
CONVERSATION, NOW = "with the next conversation", "immediately"
RELOAD, START = "when the models are loaded again", "at the next start"
_SPELLINGS = {"yes": True, "true": True, "on": True, "1": True}
_SPELLINGS |= {"no": False, "false": False, "off": False, "0": False}
_WHOLE = Range(0, UNLIMITED)
_TYPE_NAMES = {str: "TEXT", int: "N", float: "NUMBER", bool: "yes|no", tuple: "FOLDERS"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One thing that can be set.

    As the annotation of a field, it has its name, its kind and its default from there.
    """

    name: str = ""  # in `config.toml`; as an option of the command line it has dashes
    field: str = ""  # in `Settings`
    kind: type = str
    help: str = ""  # one line
    when: str = ANSWER  # from when on a change has an effect
    default: Value = ""
    bounds: Range = _WHOLE  # of a number
    word: str | None = None  # stands for an open value
    words: tuple[str, ...] = ()  # the values of a text; empty allows any
    several: bool = False  # whether the value is any number of the words, with commas
    many_lines: bool = False
    of: str = "folders"  # the elements of a list
    placeholder: str = ""  # what help pages show for the value, if not its kind
    option: bool = True  # whether the command line has it
    variable: bool = False  # whether the environment has it, as SPECCHAT_ and the name in capitals
    daily: bool = False  # whether the settings screen always shows it

    @property
    def flag(self) -> str:
        """The option, as it is typed."""
        return "--" + self.name.replace("_", "-")

    @property
    def environment(self) -> str:
        """The variable, as it is set."""
        return f"SPECCHAT_{self.name.upper()}"

    @property
    def choices(self) -> tuple[str, ...]:
        """The values, if there are only a few."""
        if self.kind is bool:
            return ("yes", "no")
        return () if self.several else self.words

    @property
    def hint(self) -> str:
        """What to type, in a word, as help pages have it."""
        if self.several:
            return f"{self.word}|NAME,..."
        if self.words:
            return "|".join(self.words) if len(self.words) < 5 else "NAME"
        if self.kind is int and self.word:
            return f"N|{self.word}"
        return self.placeholder or _TYPE_NAMES[self.kind]

    @property
    def allowed(self) -> str:
        """The allowed values, as they follow `must be`."""
        if self.kind is bool:
            return "true or false"
        if self.kind is tuple:
            return f"a list of {self.of}"
        if self.several:
            return f"{self.word}, or one or more of {', '.join(self.words)}"
        if self.kind is str:
            return f"one of {', '.join(self.words)}" if self.words else "text"
        unlimited = self.bounds.high == UNLIMITED
        range_ = f", {self.bounds.low} or more" if unlimited else f" {self.bounds}"
        number = f"a number{range_}" if self.kind is float else f"a whole number{range_}"
        return f"{self.word} or {number}" if self.word else number

    def check(self, raw: object) -> Value | None:
        """Return the value that TOML gave; None when it is not allowed."""
        if isinstance(raw, str):
            return self._check_text(raw)
        if isinstance(raw, bool):  # which Python counts among the whole numbers
            return raw if self.kind is bool else None
        if self.kind is float and isinstance(raw, int | float):
            return float(raw) if raw in self.bounds else None
        if self.kind is int and isinstance(raw, int):
            return raw if raw in self.bounds else None
        if self.kind is tuple and isinstance(raw, list | tuple):
            return tuple(raw) if all(isinstance(part, str) for part in raw) else None
        return None

    def _check_text(self, raw: str) -> Value | None:
        if self.kind is not str:
            return raw if raw == self.word else None
        if self.several:
            chosen = list(dict.fromkeys(part.strip() for part in raw.split(",")))
            return ",".join(chosen) if chosen == [self.word] or {*chosen} <= {*self.words} else None
        if self.words:
            return raw if raw in self.words else None
        return raw or self.word or ""

    def parse(self, text: str) -> Value | None:
        """Return the value that was typed; None when it is not allowed."""
        if self.kind is str:
            plain = text if self.many_lines else text.strip()
            return self.check(plain.lower() if self.words else plain)
        text = text.strip()
        if self.kind is bool:
            return _SPELLINGS.get(text.lower())
        if self.kind is tuple:
            parts = text.split(_separator(text))
            return tuple(part.strip() for part in parts if part.strip())
        if text.lower() == self.word:
            return self.word
        try:
            return self.check(self.kind(text))
        except ValueError:
            return None

    def rejection(self, value: object) -> str:
        """Return why a value is rejected."""
        try:
            text = repr(value) if isinstance(value, str) else str(value)
        except ValueError:  # Python prints no number of thousands of digits, which TOML can hold
            text = "a number of thousands of digits"
        text = text if len(text) <= 60 else f"{text[:59]}…"
        return f"{self.name} must be {self.allowed}: {text}"

    def meaning(self, value: Value) -> Any:
        """Return what a value stands for in `Settings`: None for an open one, paths for folders."""
        if isinstance(value, tuple) and self.of == "folders":
            return tuple(map(expand_path, value))
        return None if value == self.word else value


def display(value: Value) -> str:
    """Return a value as it is typed and shown."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return _separator("".join(value)).join(value)
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _separator(text: str) -> str:
    """Return what separates the parts of a list in one line: addresses have colons in them."""
    return "," if "://" in text else os.pathsep


def expand_path(folder: str) -> Path:
    """Return the folder that a text means."""
    return expand_user(os.path.expandvars(folder))
