"""Understanding a `config.toml`: what it says, and what is wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from models.errors import UsageError
from tui.settings.keys import KEYS, PRESET_KEYS, Key
from tui.settings.value_kinds import Value

Preset = Mapping[str, Value]
_TABLES = ("keys", "presets")


@dataclass(frozen=True)
class Config:
    """What `config.toml` says."""

    path: Path
    values: Mapping[str, Value] = field(default_factory=dict)
    presets: Mapping[str, Preset] = field(default_factory=dict)
    keymap: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    text: str = ""

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """The line of each key."""
        from tui.settings.toml_positions import positions

        return {path[0]: line for path, (line, _) in positions(self.text).items() if path}


class Reader:
    """One reading of a text, with the complaints that come up."""

    def __init__(self, text: str, path: Path) -> None:
        self.text, self.path = text, path
        self.warnings: list[str] = []

    def read(self) -> Config:
        """Return what the text says; a `UsageError` says what is not allowed, and where."""
        said = parse(self.text, self.path)
        tables = {name: said.pop(name) for name in _TABLES if name in said}
        return Config(
            self.path,
            self._values((), said, KEYS, (*KEYS, *_TABLES)),
            self._presets(self._table(("presets",), tables.get("presets", {}))),
            self._keymap(self._table(("keys",), tables.get("keys", {}))),
            tuple(self.warnings),
            self.text,
        )

    def _presets(self, presets: dict[str, Any]) -> dict[str, Preset]:
        return {
            name: self._values(path, self._table(path, values), PRESET_KEYS, tuple(PRESET_KEYS))
            for name, values in presets.items()
            for path in [("presets", name)]
        }

    def _keymap(self, keymap: dict[str, Any]) -> dict[str, str]:
        for name, keys in keymap.items():
            if name in KEYS:
                hint = f'{name} is no binding; it belongs above "[keys]"'
                self._warn(("keys", name), hint)
            elif not isinstance(keys, str):
                raise self._error(("keys", name), f'{name} must be keys such as "f8": {keys}')
        return {name: keys for name, keys in keymap.items() if name not in KEYS}

    def _values(
        self,
        path: tuple[str, ...],
        said: dict[str, Any],
        known: Mapping[str, Key],
        names: tuple[str, ...],
    ) -> dict[str, Value]:
        values = {}
        for name, raw in said.items():
            if name in known:
                values[name] = self._checked((*path, name), known[name], raw)
            else:
                self._warn((*path, name), self._unknown(name, raw, names))
        return values

    def _checked(self, path: tuple[str, ...], key: Key, raw: object) -> Value:
        if key.name == "preset" and isinstance(raw, dict):
            raise self._error(path, "preset names one; presets are tables, [presets.NAME]")
        value = key.kind.check(raw)
        if value is None:
            raise self._error(path, key.refusal(raw))
        return value

    def _table(self, path: tuple[str, ...], raw: object) -> dict[str, Any]:
        if isinstance(raw, dict):
            return raw
        raise self._error(path, f"{path[-1]} must be a table, [{'.'.join(path)}]")

    def _unknown(self, name: str, raw: object, names: tuple[str, ...]) -> str:
        from difflib import get_close_matches

        if isinstance(raw, dict) and set(raw) & set(KEYS):
            return f'there is no table "{name}"; keys belong at the top, above the first table'
        close = get_close_matches(name, names, 1)
        return f'there is no key "{name}"' + (f'; did you mean "{close[0]}"?' if close else "")

    def _warn(self, path: tuple[str, ...], text: str) -> None:
        self.warnings.append(f"{self._where(path)}: {text}")

    def _error(self, path: tuple[str, ...], text: str) -> UsageError:
        return UsageError(f"{self._where(path)}: {text}.")

    def _where(self, path: tuple[str, ...]) -> str:
        from tui.settings.toml_positions import positions

        found = positions(self.text)
        at = next((found[path[:n]] for n in range(len(path), 0, -1) if path[:n] in found), None)
        return f"{self.path}:{at[0]}:{at[1]}" if at else str(self.path)


def parse(text: str, path: Path) -> dict[str, Any]:
    """Return what a text says, whether specchat knows it or not."""
    import tomllib  # most people have no such file

    try:
        return tomllib.loads(text)
    except ValueError as error:
        from tui.settings.toml_positions import fault

        reason, (line, column) = fault(error, text)
        raise UsageError(f"{path}:{line}:{column}: this is not TOML: {reason}.") from error
    except RecursionError as error:
        raise UsageError(f"{path} is nested too deeply; it cannot be meant.") from error
