"""What a value may be, and the kinds that are numbers."""

import math
import os
from dataclasses import dataclass
from typing import Protocol

Value = str | int | float | bool | tuple[str, ...]
"""A plain value, as TOML has it. Words such as `auto` stand for themselves."""

_MOST = 2**63 - 1
"""The largest whole number that TOML has."""


class Kind(Protocol):
    """A set of values."""

    @property
    def allowed(self) -> str:
        """What is allowed, to follow `must be`."""
        ...

    @property
    def hint(self) -> str:
        """What to type, in a word, as help pages have it."""
        ...

    def parse(self, text: str) -> Value | None:
        """Return the value that was typed; None when it is not allowed."""
        ...

    def check(self, raw: object) -> Value | None:
        """Return the value that TOML gave; None when it is not allowed."""
        ...


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a range."""

    low: float
    high: float
    without_low: bool = False

    @property
    def allowed(self) -> str:
        """The range."""
        if self.without_low:
            return f"a number above {self.low:g} and at most {self.high:g}"
        return f"a number from {self.low:g} to {self.high:g}"

    @property
    def hint(self) -> str:
        """A number."""
        return "NUMBER"

    def parse(self, text: str) -> Value | None:
        """Read a number."""
        try:
            return self.check(float(text))
        except ValueError:
            return None

    def check(self, raw: object) -> Value | None:
        """Hold the number against the range."""
        if isinstance(raw, bool) or not isinstance(raw, int | float):
            return None
        fine = self.low < raw <= self.high if self.without_low else self.low <= raw <= self.high
        return float(raw) if fine and math.isfinite(raw) else None


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number, or a word that leaves the number open."""

    low: int
    high: int = _MOST
    word: str | None = None

    @property
    def allowed(self) -> str:
        """The word and the range."""
        word = f"{self.word} or " if self.word else ""
        if self.high == _MOST:
            return f"{word}a whole number, {self.low} or more"
        return f"{word}a whole number from {self.low} to {self.high}"

    @property
    def hint(self) -> str:
        """A number, or the word."""
        return f"N|{self.word}" if self.word else "N"

    def parse(self, text: str) -> Value | None:
        """Read a whole number or the word."""
        if text.strip().lower() == self.word:
            return self.word
        try:
            return self.check(int(text))
        except ValueError:
            return None

    def check(self, raw: object) -> Value | None:
        """Hold the number against the range."""
        if self.word is not None and raw == self.word:
            return self.word
        if isinstance(raw, bool) or not isinstance(raw, int):
            return None
        return raw if self.low <= raw <= self.high else None


def shown(value: Value) -> str:
    """Return a value as it is typed and shown."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return os.pathsep.join(value)
    return f"{value:.12g}" if isinstance(value, float) else str(value)
