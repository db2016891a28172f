"""What is checked of the text of `config.toml`, and where in it something is wrong."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.errors import UsageError
from tui.settings.keys import KEYS, Key
from tui.settings.kinds import Value

TablePath = tuple[str, ...]


class ConfigCheck:
    """The checks of one text, and the warnings that come up."""

    def __init__(self, text: str, path: Path) -> None:
        self._text, self._path = text, path
        self.warnings: list[str] = []

    def table(self, path: TablePath, raw: object) -> dict[str, Any]:
        """Return a table."""
        if isinstance(raw, dict):
            return raw
        raise self.error(path, f"{path[-1]} must be a table, [{'.'.join(path)}]")

    def keymap(self, keymap: dict[str, Any]) -> dict[str, str]:
        """Return the keys of the app by the names of what they do."""
        for name, keys in keymap.items():
            if name in KEYS:
                hint = f'{name} is not a binding; it belongs above "[keys]"'
                self._warn(("keys", name), hint)
            elif not isinstance(keys, str):
                raise self.error(("keys", name), f'{name} must be keys such as "f8": {keys}')
        return {name: keys for name, keys in keymap.items() if name not in KEYS}

    def values(
        self, path: TablePath, said: dict[str, Any], known: Mapping[str, Key], names: TablePath
    ) -> dict[str, Value]:
        """Return the values of the keys of a table; one that is unknown is a warning."""
        values: dict[str, Value] = {}
        for name, raw in said.items():
            at = (*path, name)
            if name not in known:
                self._warn(at, _unknown(name, raw, names))
            elif name == "preset" and isinstance(raw, dict):
                raise self.error(at, "preset takes a name; presets are tables, [presets.NAME]")
            elif (value := known[name].kind.check(raw)) is None:
                raise self.error(at, known[name].refusal(raw))
            else:
                values[name] = value
        return values

    def error(self, path: TablePath, text: str) -> UsageError:
        """Return the error that says what is wrong, and where."""
        return UsageError(f"{self._where(path)}: {text}.")

    def _warn(self, path: TablePath, text: str) -> None:
        self.warnings.append(f"{self._where(path)}: {text}")

    def _where(self, path: TablePath) -> str:
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
