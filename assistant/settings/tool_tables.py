"""The tables `[tools]` and `[tools.servers.NAME]` of `config.toml`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from assistant.request import Range
from assistant.settings.checks import ConfigCheck, TablePath
from assistant.settings.keys import Key, expand_path
from assistant.tools.values import ToolSettings
from models.errors import UsageError

if TYPE_CHECKING:  # most people name no server
    from assistant.tools.server_settings import ServerSettings

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


def tool_settings(check: ConfigCheck, raw: object) -> ToolSettings:
    """Return what `[tools]` says.

    Raises:
        UsageError: a value is not allowed.
    """
    table = dict(check.table(("tools",), raw))
    servers = check.table(("tools", "servers"), table.pop("servers", {}))
    said: dict[str, Any] = check.values(("tools",), table, TOOLS, (*TOOLS, "servers"))
    said["folders"] = tuple(map(expand_path, said.get("folders", ())))
    return ToolSettings(
        **said, servers=tuple(_server(check, name, each) for name, each in servers.items())
    )


def _server(check: ConfigCheck, name: str, raw: object) -> ServerSettings:
    from assistant.tools.server_settings import ServerSettings

    at = ("tools", "servers", name)
    table = dict(check.table(at, raw))
    env, headers = (_texts(check, (*at, key), table.pop(key, {})) for key in TABLES)
    said: dict[str, Any] = check.values(at, table, SERVER, (*SERVER, *TABLES))
    if said.get("cwd"):
        said["cwd"] = str(expand_path(said["cwd"]))
    filled = {key: _filled(check, (*at, "headers", key), text) for key, text in headers.items()}
    try:
        return ServerSettings(name, **said, env=tuple(env.items()), headers=tuple(filled.items()))
    except UsageError as error:
        raise check.error(at, str(error)) from error


def _texts(check: ConfigCheck, at: TablePath, raw: object) -> dict[str, str]:
    table = check.table(at, raw)
    for key, value in table.items():
        if not isinstance(value, str):
            raise check.error((*at, key), f"{key} must be a text")  # which may be secret
    return table


def _filled(check: ConfigCheck, at: TablePath, text: str) -> str:
    """Return a text in which ${NAME} is what the environment says."""

    def value(found: re.Match[str]) -> str:
        if not (said := os.environ.get(found[1])):
            why = f"{at[-1]} needs the environment variable {found[1]}, which is not set"
            raise check.error(at, why)
        return said

    return _VARIABLE.sub(value, text)
