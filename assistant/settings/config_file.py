"""`config.toml`, which only its user writes: its path, its values, and its errors."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any

from assistant.request import Range
from assistant.settings.keys import Key, Value, Values, expand_path
from assistant.settings.settings import KEYS
from assistant.tools.values import BUILT_IN, LONGEST_NAME, ServerSettings, ToolSettings
from models.errors import UsageError, raising
from models.files.disk import open_regular, write_private
from models.files.places import config_dir

MAX_BYTES = 1 << 20
TablePath = tuple[str, ...]
TOOLS = {
    "folders": Key(name="folders", kind=tuple),
    "rounds": Key(name="rounds", kind=int, bounds=Range(1, 100)),
}
TABLES = ("env", "headers")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
SERVER = {
    "args": Key(name="args", kind=tuple, of="texts"),
    **{name: Key(name=name) for name in ("command", "cwd", "url", "allow_host")},
}


@dataclass(frozen=True)
class Config:
    """The content of `config.toml`."""

    path: Path
    values: Values = field(default_factory=dict)
    tools: ToolSettings = field(default_factory=ToolSettings)
    warnings: tuple[str, ...] = ()


def config_path() -> Path:
    """Return where `config.toml` is, or would be."""
    return config_dir() / "config.toml"


def read(path: Path | None = None) -> Config:
    """Read the file; without one, all is unset. A `UsageError` says what is wrong with it."""
    path = path or config_path()
    try:
        with open_regular(path) as file:  # a pipe or a device may have no end
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return Config(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES >> 20} MB; is it the right file?")
    try:
        return parse_config(data.decode("utf-8-sig").replace("\r\n", "\n"), path)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: this is not UTF-8. Save the file as UTF-8.") from error


def parse_config(text: str, path: Path) -> Config:
    """Return the content of a text; a `UsageError` says all that is not allowed, and where."""
    table = _parse(text, path)
    tools = table.pop("tools", {})
    check = ConfigCheck(path)
    values = check.values((), table, KEYS, (*KEYS, "tools"))
    settings = tool_settings(check, tools)
    if check.errors:
        raise UsageError("\n".join(check.errors))
    return Config(path, values, settings, tuple(check.warnings))


def with_tools(line: str) -> str:
    """Return the file's text with a folder, or the command or the address of a server, as tools.

    A `UsageError` says why it cannot be used, or that only the user can change a file like this.
    """
    path = config_path()
    before = read(path).tools
    text = path.read_text("utf-8-sig") if path.is_file() else ""
    is_path = line.strip().startswith(("/", "~", "."))
    is_folder = is_path and not os.path.isfile(expand_path(line.split()[0]))
    add = _with_folder if is_folder else _with_server
    after = add(text, line, before)
    tools = parse_config(after, path).tools
    entries = len(before.folders) + len(before.servers)
    if len(tools.folders) + len(tools.servers) != entries + 1:
        raise UsageError(f"{path} cannot be changed here; add {line} under [tools].")
    return after


def add_tools(line: str) -> None:
    """Write the file with more tools; a `UsageError` says why that is not possible."""
    with raising(UsageError, f"{config_path()} cannot be written"):
        write_private(config_path(), with_tools(line))


def _with_folder(text: str, line: str, before: ToolSettings) -> str:
    """Return the text of a file with one more folder that tools may read."""
    folder = expand_path(line.strip()).absolute()
    if not os.path.isdir(folder):
        raise UsageError(f"There is no folder {folder}.")
    if folder in before.folders:
        raise UsageError(f"Tools may read {folder} already.")
    entry = json.dumps(str(folder), ensure_ascii=False)
    table = re.search(r"(?m)^[ \t]*\[tools\][^\n]*\n?", text)
    if table is None:
        return f"{text.rstrip()}\n\n[tools]\nfolders = [{entry}]\n".lstrip()
    own = text[table.end() :]
    known = re.match(r"(?:(?![ \t]*\[).*\n)*?[ \t]*folders[ \t]*=[ \t]*\[", own)
    if known is None:
        return f"{text[: table.end()].rstrip()}\nfolders = [{entry}]\n{own}"
    return text[: table.end()] + known[0] + entry + ", " + own[known.end() :]


def _with_server(text: str, line: str, before: ToolSettings) -> str:
    """Return the text of a file with one more server, named by its host or its last argument."""
    try:
        words = [*map(os.path.expanduser, shlex.split(line))]
    except ValueError as error:
        raise UsageError(f"{error}.") from error
    if not words:
        raise UsageError("A folder, a command or an address is needed.")
    if words[0].startswith(("http://", "https://")):
        kind, name = "url", _unused_name(words[0].split("/")[2], before)
    elif shutil.which(words[0]) is None:
        raise UsageError(f"There is no program {words[0]}.")
    else:
        kind, name = "command", _unused_name(words[-1], before)
        words[0] = os.path.abspath(words[0]) if os.path.dirname(words[0]) else words[0]
    first, *others = (json.dumps(word, ensure_ascii=False) for word in words)
    args = f"args = [{', '.join(others)}]\n" if others else ""
    return f"{text}\n[tools.servers.{name}]\n{kind} = {first}\n{args}"


def _unused_name(words: str, before: ToolSettings) -> str:
    """Return a name for a server made of these words, with a number if one is called so."""
    used = {BUILT_IN, *(server.name for server in before.servers)}
    parts = re.findall(r"[a-zA-Z0-9]+", words)
    name = "-".join(parts)[-LONGEST_NAME:].strip("-") or "server"
    numbered = (f"{name[: LONGEST_NAME - 3].strip('-')}-{number}" for number in count(2))
    return next(free for free in chain([name], numbered) if free not in used)


def _parse(text: str, path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except ValueError as error:
        comma = re.search(r"(?m)^[ \t]*[\w.-]+[ \t]*=[ \t]*([+-]?\d+),(\d+)", text)
        hint = f" A number has a point: {comma[1]}.{comma[2]}." if comma else ""
        raise UsageError(f"{path} is not TOML: {error}.{hint}") from error
    except RecursionError as error:
        raise UsageError(f"{path} is nested too deeply; is it the right file?") from error


class ConfigCheck:
    """The checks of one file, their errors and warnings."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.errors: list[str] = []
        self.warnings: list[str] = []

    def table(self, path: TablePath, raw: object) -> dict[str, Any]:
        """Return a table; an empty one for anything else, which is an error."""
        if isinstance(raw, dict):
            return raw
        self.refuse(path, f"{path[-1]} must be a table, [{'.'.join(path)}]")
        return {}

    def values(
        self, path: TablePath, table: dict[str, Any], known: Mapping[str, Key], names: TablePath
    ) -> dict[str, Value]:
        """Return the allowed values of the keys of a table; a key that is unknown is a warning."""
        values: dict[str, Value] = {}
        for name, raw in table.items():
            at = (*path, name)
            if name not in known:
                self.warnings.append(f"{self._where(at)}: {_unknown(name, raw, names)}")
            elif (value := known[name].check(raw)) is None:
                self.refuse(at, known[name].rejection(raw))
            else:
                values[name] = value
        return values

    def refuse(self, path: TablePath, text: str) -> None:
        """Add the error that says what is wrong, and where."""
        self.errors.append(f"{self._where(path)}: {text}.")

    def _where(self, path: TablePath) -> str:
        table = f", [{'.'.join(path[:-1])}]" if path[1:] else ""
        return f"{self._path}{table}"


def _unknown(name: str, raw: object, names: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    if isinstance(raw, dict) and set(raw) & set(KEYS):
        return f'there is no table "{name}"; keys belong at the top, above the first table'
    close = get_close_matches(name, names, 1)
    return f'there is no key "{name}"' + (f'; did you mean "{close[0]}"?' if close else "")


def tool_settings(check: ConfigCheck, raw: object) -> ToolSettings:
    """Return the settings of the table `[tools]`."""
    table = dict(check.table(("tools",), raw))
    servers = check.table(("tools", "servers"), table.pop("servers", {}))
    values: dict[str, Any] = check.values(("tools",), table, TOOLS, (*TOOLS, "servers"))
    values["folders"] = tuple(map(expand_path, values.get("folders", ())))
    read_servers = (_server(check, name, server) for name, server in servers.items())
    return ToolSettings(**values, servers=tuple(filter(None, read_servers)))


def _server(check: ConfigCheck, name: str, raw: object) -> ServerSettings | None:
    """Return the settings of a server, or None with errors: another would only follow from them."""
    at, errors_before = ("tools", "servers", name), len(check.errors)
    table = dict(check.table(at, raw))
    env, headers = (_texts(check, (*at, key), table.pop(key, {})) for key in TABLES)
    values: dict[str, Any] = check.values(at, table, SERVER, (*SERVER, *TABLES))
    for key in values.keys() & {"command", "cwd"}:
        values[key] = os.path.expanduser(os.path.expandvars(values[key]))
    filled = {key: _fill(check, (*at, "headers", key), text) for key, text in headers.items()}
    if len(check.errors) > errors_before:
        return None
    try:
        return ServerSettings(name, **values, env=tuple(env.items()), headers=tuple(filled.items()))
    except UsageError as error:
        check.refuse(at, str(error))
        return None


def _texts(check: ConfigCheck, at: TablePath, raw: object) -> dict[str, str]:
    table = check.table(at, raw)
    for key, value in table.items():
        if not isinstance(value, str):
            check.refuse((*at, key), f"{key} must be text")  # which may be secret
    return {key: value for key, value in table.items() if isinstance(value, str)}


def _fill(check: ConfigCheck, at: TablePath, text: str) -> str:
    """Return a text in which each ${NAME} is replaced by that environment variable."""

    def value_of(variable: re.Match[str]) -> str:
        name = variable[1]
        if not os.environ.get(name):
            check.refuse(at, f"{at[-1]} needs the environment variable {name}, which is not set")
        return os.environ.get(name, "")

    return _VARIABLE.sub(value_of, text)
