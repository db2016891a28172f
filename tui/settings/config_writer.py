"""Writing `config.toml`: as a template, and changes with comments and order kept as they are."""

import json
import os
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item

from models.errors import StorageError
from tui.settings.config_file import Config, Preset, decode, understand
from tui.settings.keys import GROUPS, KEYS, Key
from tui.settings.kinds import Value
from tui.settings.toml_positions import statements

_OPENING = """\
# The defaults of specchat. Remove the "# " before a key to set it.
# An option on the command line comes first, then the environment, then this file.
# The settings screen (F6) writes here too, and keeps your comments. See: specchat config show
"""
_CLOSING = """\
# Presets: a named system prompt and sampling; choose one with --preset or in the settings screen.
# [presets.code]
# system = "You are a terse programmer."
# temperature = 0.2

# Tools that a model may ask to be called. You are asked before one runs; F9 lists them.
# [tools]
# folders = ["~/notes"]  # which it may read, list and search
# rounds = 8             # of calls, before you are asked whether to go on
# [tools.servers.NAME]   # a server of tools (MCP); or url = "http://127.0.0.1:8000/mcp"
#                        # with headers = { Authorization = "Bearer ${TOKEN}" }
# command = "some-server"
# args = ["--option"]
# env = { TOKEN = "..." }
# cwd = "~/project"

# Keys, by the names that `specchat config keys` lists; give several as "f8,f10".
# [keys]
# "chat.new" = "f8"
"""


def write(seen: Config, changes: Mapping[str, Value], presets: Mapping[str, Preset]) -> Config:
    """Write keys and presets into the file that was `seen`, and return what it says now.

    A file that was changed meanwhile keeps those changes.

    Raises:
        StorageError: the file cannot be written, or the same key was changed meanwhile.
        UsageError: the file has become one that cannot be understood.
    """
    try:
        path = seen.path.resolve()  # a link, as dotfiles often are, stays one
        data = _bytes(path)
        text = decode(data, path)
        _refuse_conflicts(seen, understand(text, path), changes, presets)
        new = changed(text if data else template(), changes, presets, path)
        encoded = new.replace("\n", "\r\n").encode() if b"\r\n" in data else new.encode()
        _replace(path, encoded, data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{seen.path} cannot be written: {reason}.") from error
    except UnicodeEncodeError as error:  # TOML has no other bytes
        raise StorageError(
            f"{seen.path} can hold only UTF-8, and one value is not UTF-8. If it is a file name, "
            "rename the file, or give it on the command line each time."
        ) from error
    return understand(new, seen.path)


def changed(
    text: str, changes: Mapping[str, Value], presets: Mapping[str, Preset], path: Path
) -> str:
    """Return the text with keys and presets set and everything else as it was."""
    wanted = tomllib.loads(text)
    wanted.update({name: _raw(value) for name, value in changes.items()})
    for name, preset in presets.items():
        wanted.setdefault("presets", {})[name] = {key: _raw(preset[key]) for key in preset}
    try:
        text = text if text.endswith("\n") else f"{text}\n"
        document = tomlkit.parse(_uncommented(text, changes))
        for name, value in changes.items():
            document[name] = _item(value)
        for name, preset in presets.items():
            if "presets" not in document:
                document["presets"] = tomlkit.table(is_super_table=True)
            _fill(document["presets"], name, preset)
        new = tomlkit.dumps(document)
        fine = tomllib.loads(new) == wanted
    except (TOMLKitError, ValueError, TypeError) as error:
        raise _unusual(path) from error
    if not fine:
        raise _unusual(path)
    return new


def _fill(presets: Any, name: str, preset: Preset) -> None:
    new = name not in presets
    if new:
        presets[name] = tomlkit.table()
    for key in [key for key in presets[name] if key not in preset]:
        del presets[name][key]
    for key, value in preset.items():
        presets[name][key] = _item(value)
    if new:
        presets[name].add(tomlkit.nl())


def _uncommented(text: str, changes: Mapping[str, Value]) -> str:
    """Return the text with the template's lines for these keys brought to life."""
    lines = text.split("\n")
    present = tomllib.loads(text)
    wanted = {commented(KEYS[name]): name for name in changes if name not in present}
    for number, statement, values in statements(text):
        if values and statement.lstrip().startswith("["):
            break  # below, a key would belong to this table
        if name := wanted.pop(statement, None):
            lines[number - 1] = f"{name} = {literal(KEYS[name].default)}"
    return "\n".join(lines)


def _refuse_conflicts(
    seen: Config, now: Config, changes: Mapping[str, Value], presets: Mapping[str, Preset]
) -> None:
    both = [name for name in changes
            if now.values.get(name) not in (seen.values.get(name), changes[name])]  # fmt: skip
    both += [f"preset {name}" for name in presets
             if now.presets.get(name) not in (seen.presets.get(name), presets[name])]  # fmt: skip
    if both:
        raise StorageError(
            f"{seen.path} was changed by another program meanwhile, also {', '.join(both)}. "
            "Nothing was written; open the settings again."
        )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _replace(path: Path, new: bytes, old: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        if _bytes(path) != old:
            raise StorageError(f"{path} is being changed by another program; try again.")
        os.replace(name, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def _raw(value: Value) -> object:
    return list(value) if isinstance(value, tuple) else value


def _item(value: Value) -> Item:
    if isinstance(value, str) and "\n" in value:
        lines = tomlkit.string(value, multiline=True)
        with suppress(ValueError):
            if tomllib.loads(f"text = {lines.as_string()}")["text"] == value:
                return lines
    return tomlkit.item(_raw(value))


def _unusual(path: Path) -> StorageError:
    return StorageError(
        f"{path} is written in a way that cannot be changed without losing something. "
        "Nothing was written; edit it by hand."
    )


def template() -> str:
    """Return a `config.toml` in which every key is explained and none is set."""
    return "\n".join([_OPENING, *_groups(), _CLOSING])


def commented(key: Key) -> str:
    """Return the line that shows a key's default without setting it."""
    return f"# {key.name} = {literal(key.default)}"


def literal(value: Value) -> str:
    """Return a value as TOML on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    return f"[{', '.join(map(literal, value))}]" if isinstance(value, tuple) else repr(value)


def _groups() -> Iterator[str]:
    for title, keys in GROUPS.items():
        yield f"# --- {title} ---\n"
        for key in keys:
            yield f"{_explained(key)}\n{commented(key)}\n"


def _explained(key: Key) -> str:
    variable = f" Also {key.environment}." if key.variable else ""
    text = f"{key.help} Allowed: {key.kind.allowed}.{variable}"
    return textwrap.fill(
        text, 98, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )
