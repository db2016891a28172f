"""`config.toml`: where it is, what it says, and what is wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from models.errors import UsageError
from models.files.places import config_dir
from tui.settings.keys import KEYS, PRESET_KEYS, Key
from tui.settings.kinds import Value

MAX_BYTES = 1 << 20
Preset = Mapping[str, Value]
_TABLES = ("keys", "presets")
_Path = tuple[str, ...]


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


def config_path() -> Path:
    """Return where `config.toml` is, or would be."""
    return config_dir() / "config.toml"


def read(path: Path | None = None) -> Config:
    """Read the file; one that is not there says nothing.

    Raises:
        UsageError: it cannot be read, is not TOML, or has a value that is not allowed.
    """
    path = path or config_path()
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(
                f"{path} is larger than {MAX_BYTES >> 20} MB; check that it is the right file."
            )
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return Config(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    return understand(decode(data, path), path)


def decode(data: bytes, path: Path) -> str:
    """Return the text of a file, with the line ends that TOML counts."""
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: this is not UTF-8. Save the file as UTF-8.") from error


def understand(text: str, path: Path) -> Config:
    """Return what a text says; a `UsageError` says what is not allowed, and where."""
    said = _parse(text, path)
    tables = {name: said.pop(name) for name in _TABLES if name in said}
    check = _Check(text, path)
    return Config(
        path,
        check.values((), said, KEYS, (*KEYS, *_TABLES)),
        {
            name: check.values(at, check.table(at, values), PRESET_KEYS, tuple(PRESET_KEYS))
            for name, values in check.table(("presets",), tables.get("presets", {})).items()
            for at in [("presets", name)]
        },
        check.keymap(check.table(("keys",), tables.get("keys", {}))),
        tuple(check.warnings),
        text,
    )


def _parse(text: str, path: Path) -> dict[str, Any]:
    import tomllib  # most people have no such file

    try:
        return tomllib.loads(text)
    except ValueError as error:
        from tui.settings.toml_positions import fault

        reason, (line, column) = fault(error, text)
        raise UsageError(f"{path}:{line}:{column}: this is not TOML: {reason}.") from error
    except RecursionError as error:
        raise UsageError(
            f"{path} is nested too deeply; check that it is the right file."
        ) from error


class _Check:
    """The checks of one text, and the warnings that come up."""

    def __init__(self, text: str, path: Path) -> None:
        self._text, self._path = text, path
        self.warnings: list[str] = []

    def table(self, path: _Path, raw: object) -> dict[str, Any]:
        """Return a table."""
        if isinstance(raw, dict):
            return raw
        raise self._error(path, f"{path[-1]} must be a table, [{'.'.join(path)}]")

    def keymap(self, keymap: dict[str, Any]) -> dict[str, str]:
        """Return the keys of the app by the names of what they do."""
        for name, keys in keymap.items():
            if name in KEYS:
                hint = f'{name} is not a binding; it belongs above "[keys]"'
                self._warn(("keys", name), hint)
            elif not isinstance(keys, str):
                raise self._error(("keys", name), f'{name} must be keys such as "f8": {keys}')
        return {name: keys for name, keys in keymap.items() if name not in KEYS}

    def values(
        self, path: _Path, said: dict[str, Any], known: Mapping[str, Key], names: _Path
    ) -> dict[str, Value]:
        """Return the values of the keys of a table; one that is unknown is a warning."""
        values: dict[str, Value] = {}
        for name, raw in said.items():
            at = (*path, name)
            if name not in known:
                self._warn(at, _unknown(name, raw, names))
            elif name == "preset" and isinstance(raw, dict):
                raise self._error(at, "preset takes a name; presets are tables, [presets.NAME]")
            elif (value := known[name].kind.check(raw)) is None:
                raise self._error(at, known[name].refusal(raw))
            else:
                values[name] = value
        return values

    def _warn(self, path: _Path, text: str) -> None:
        self.warnings.append(f"{self._where(path)}: {text}")

    def _error(self, path: _Path, text: str) -> UsageError:
        return UsageError(f"{self._where(path)}: {text}.")

    def _where(self, path: _Path) -> str:
        from tui.settings.toml_positions import positions

        found = positions(self._text)
        at = next((found[path[:n]] for n in range(len(path), 0, -1) if path[:n] in found), None)
        return f"{self._path}:{at[0]}:{at[1]}" if at else str(self._path)


def _unknown(name: str, raw: object, names: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    if isinstance(raw, dict) and set(raw) & set(KEYS):
        return f'there is no table "{name}"; keys belong at the top, above the first table'
    close = get_close_matches(name, names, 1)
    return f'there is no key "{name}"' + (f'; did you mean "{close[0]}"?' if close else "")
