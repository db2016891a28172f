"""`config.toml`, which only its user writes: where it is, what it says, what is wrong with it."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assistant.settings.keys import Values
from assistant.settings.settings import KEYS
from assistant.tools.values import ToolSettings
from models.errors import UsageError
from models.files.disk import open_regular
from models.files.places import config_dir

MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Config:
    """What `config.toml` says."""

    path: Path
    values: Values = field(default_factory=dict)
    tools: ToolSettings = field(default_factory=ToolSettings)
    warnings: tuple[str, ...] = ()


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
        with open_regular(path) as file:  # a pipe or a device may have no end
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return Config(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise UsageError(
            f"{path} is larger than {MAX_BYTES >> 20} MB; check that it is the right file."
        )
    try:
        return understand(data.decode("utf-8-sig").replace("\r\n", "\n"), path)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: this is not UTF-8. Save the file as UTF-8.") from error


def understand(text: str, path: Path) -> Config:
    """Return what a text says; a `UsageError` says what is not allowed, and where."""
    from assistant.settings.checks import ConfigCheck, tool_settings  # few have such a file

    table = _parse(text, path)
    tools = table.pop("tools", {})
    check = ConfigCheck(path)
    return Config(
        path,
        check.values((), table, KEYS, (*KEYS, "tools")),
        tool_settings(check, tools),
        tuple(check.warnings),
    )


def _parse(text: str, path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except ValueError as error:
        comma = re.search(r"(?m)^[ \t]*[\w.-]+[ \t]*=[ \t]*([+-]?\d+),(\d+)", text)
        hint = f" A number has a point: {comma[1]}.{comma[2]}." if comma else ""
        raise UsageError(f"{path} is not TOML: {error}.{hint}") from error
    except RecursionError as error:
        raise UsageError(
            f"{path} is nested too deeply; check that it is the right file."
        ) from error
