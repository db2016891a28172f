"""Where in a TOML text each key is: the reader of the standard library does not tell."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

Path = tuple[str, ...]
Position = tuple[int, int]
"""Line and column, from 1."""

_CLOSERS = ('"""', "'''", "]", "}")
_SAID = re.compile(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.DOTALL)


def positions(text: str) -> dict[Path, Position]:
    """Return where each table and key of a valid TOML text begins."""
    found: dict[Path, Position] = {}
    table: Path = ()
    for number, statement, values in statements(text):
        head = statement.lstrip()
        is_table = head.startswith("[")
        paths = [path if is_table else table + path for path in _paths(values)]
        for path in paths:
            found.setdefault(path, (number, len(statement) - len(head) + 1))
        table = paths[-1] if is_table else table
    return found


def statements(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the first line's number, the text and the values of each statement, comments too.

    Lines are gathered until they are valid by themselves, which is where a statement ends.
    """
    pending: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        pending.append(line)
        if len(pending) > 1 and not any(closer in line for closer in _CLOSERS):
            continue
        statement = "\n".join(pending)
        try:
            values = tomllib.loads(statement)
        except ValueError:
            continue
        yield number - len(pending) + 1, statement, values
        pending.clear()


def fault(error: ValueError, text: str) -> tuple[str, Position]:
    """Return what is wrong with a text that is not TOML, and where."""
    said = _SAID.match(str(error))
    if said is None:
        return str(error), (1, 1)
    lines = text.split("\n")
    end = len(lines), len(lines[-1]) + 1
    return said[1], (int(said[2]), int(said[3])) if said[2] else end


def _paths(values: dict[str, Any]) -> Iterator[Path]:
    for name, value in values.items():
        yield (name,)
        if isinstance(value, dict):
            yield from ((name, *path) for path in _paths(value))
