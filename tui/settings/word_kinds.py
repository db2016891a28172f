"""The kinds of values that are words: choices, switches, texts and folders."""

import os
from dataclasses import dataclass

from tui.settings.value_kinds import Value

_YES = ("yes", "true", "on", "1")
_NO = ("no", "false", "off", "0")


@dataclass(frozen=True, slots=True)
class ChoiceKind:
    """One of a few words."""

    choices: tuple[str, ...]

    @property
    def allowed(self) -> str:
        """The words."""
        return f"one of {', '.join(self.choices)}"

    @property
    def hint(self) -> str:
        """The words, if they fit a line."""
        return "|".join(self.choices) if len(self.choices) < 5 else "NAME"

    def parse(self, text: str) -> Value | None:
        """Find the word."""
        return self.check(text.strip().lower())

    def check(self, raw: object) -> Value | None:
        """Find the word."""
        return raw if isinstance(raw, str) and raw in self.choices else None


@dataclass(frozen=True, slots=True)
class ListKind:
    """Some of a few words, separated by commas; or a word that leaves them open."""

    choices: tuple[str, ...]
    word: str

    @property
    def allowed(self) -> str:
        """The words."""
        return f"{self.word}, or one or more of {', '.join(self.choices)}"

    @property
    def hint(self) -> str:
        """What it is."""
        return f"{self.word}|NAME,..."

    def parse(self, text: str) -> Value | None:
        """Find the words."""
        return self.check(text.lower())

    def check(self, raw: object) -> Value | None:
        """Find the words, each once."""
        if not isinstance(raw, str):
            return None
        words = list(dict.fromkeys(word.strip() for word in raw.split(",")))
        return ",".join(words) if words == [self.word] or {*words} <= {*self.choices} else None


@dataclass(frozen=True, slots=True)
class Flag:
    """Yes or no."""

    @property
    def allowed(self) -> str:
        """Both, as TOML spells them."""
        return "true or false"

    @property
    def hint(self) -> str:
        """Yes or no."""
        return "yes|no"

    def parse(self, text: str) -> Value | None:
        """Read yes or no, in the usual spellings."""
        word = text.strip().lower()
        return True if word in _YES else False if word in _NO else None

    def check(self, raw: object) -> Value | None:
        """Take a boolean and nothing else."""
        return raw if isinstance(raw, bool) else None


@dataclass(frozen=True, slots=True)
class TextKind:
    """Any text; an empty one stands for `word`."""

    word: str = ""
    hint: str = "TEXT"
    many_lines: bool = False

    @property
    def allowed(self) -> str:
        """Any text."""
        return "a text"

    def parse(self, text: str) -> Value | None:
        """Take the text."""
        return (text if self.many_lines else text.strip()) or self.word

    def check(self, raw: object) -> Value | None:
        """Take the text."""
        return (raw or self.word) if isinstance(raw, str) else None


@dataclass(frozen=True, slots=True)
class FolderList:
    """Folders: a list in TOML, and elsewhere separated as in PATH."""

    hint: str = "FOLDERS"

    @property
    def allowed(self) -> str:
        """Paths."""
        return "a list of folders"

    def parse(self, text: str) -> Value | None:
        """Split a list of folders."""
        return tuple(part.strip() for part in text.split(os.pathsep) if part.strip())

    def check(self, raw: object) -> Value | None:
        """Take a list of texts."""
        if not isinstance(raw, list | tuple) or not all(isinstance(part, str) for part in raw):
            return None
        return tuple(raw)
