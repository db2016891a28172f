"""Values of tools: settings, tools, the states of servers, results."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import SplitResult, urlsplit

from assistant.request import Tool
from models.errors import UsageError, well_formed
from models.machine import is_local

if TYPE_CHECKING:
    from assistant.store.values import State

BUILT_IN = "files"  # the name of the built-in tools, which no server may have
NAME = re.compile(r"[a-zA-Z0-9]+(?:[_-][a-zA-Z0-9]+)*")
LONGEST_NAME = 24
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
SHORTEST_SECRET = 6  # characters; a shorter one may be part of any text
RESULT_CHARACTERS = 12_000  # about 4,000 tokens, half of the usual context
FAULT = "specchat/fault"  # the key for why a listed tool cannot be used
ServerState = Literal["off", "starting", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """A server of tools: a command to run, or the address of a running one.

    A `UsageError` says which value cannot be used.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # in addition to a few of ours
    cwd: str = ""  # empty: the folder in which specchat was started
    url: str = ""
    allow_host: str = ""  # the host of the address, if it is another machine
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # may hold secrets

    def __post_init__(self) -> None:
        is_name = NAME.fullmatch(self.name) and self.name != BUILT_IN
        if not is_name or len(self.name) > LONGEST_NAME:
            raise UsageError(
                f"A server's name has at most {LONGEST_NAME} letters and digits, and single "
                f"hyphens or underscores between them, and is not {BUILT_IN}: {self.name!r}"
            )
        if bool(self.command) == bool(self.url):
            raise UsageError(f'The server "{self.name}" needs either a command or a url')
        if self.url:
            self._check_address()
        if self.headers and not self.url:
            raise UsageError(f'The server "{self.name}" has headers, which need a url')
        for name, value in self.headers:
            if not HEADER.fullmatch(name):
                raise UsageError(f'The server "{self.name}" cannot have a header {name!r}')
            if not (value.isascii() and value.isprintable() and value == value.strip() != ""):
                raise UsageError(
                    f'The header {name} of the server "{self.name}" is empty, has a space at an '
                    "end, or has characters other than printable ASCII"
                )

    @property
    def identity(self) -> str:
        """The command or address, as a part of the fingerprint of each tool."""
        return json.dumps([self.command, self.args, self.cwd, self.url])

    @property
    def is_here(self) -> bool:
        """Whether the server is on this machine."""
        return not self.url or is_local(urlsplit(self.url).hostname or "")

    def _check_address(self) -> None:
        try:
            parts = urlsplit(self.url)
            host, _ = parts.hostname or "", parts.port
        except ValueError:
            parts, host = SplitResult("", "", "", "", ""), ""
        if parts.scheme not in {"http", "https"} or not host or parts.username is not None:
            raise UsageError(
                f'The url of the server "{self.name}" must be like http://127.0.0.1:8000/mcp: '
                f"{self.url}"
            )
        if not is_local(host) and host.lower() != self.allow_host.lower():
            raise UsageError(
                f'The server "{self.name}" is on another machine, {host}. If it may see what its '
                f'tools are called with, set allow_host = "{host}"'
            )

    def without_secrets(self, text: str) -> str:
        """Return a text with the secrets of the headers replaced: a server may repeat them."""
        for _, value in self.headers:
            for secret in (value, value.rpartition(" ")[2]):
                if len(secret) >= SHORTEST_SECRET:
                    text = text.replace(secret, "[secret]")
        return text


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """The tools that a model may be offered."""

    folders: tuple[Path, ...] = ()  # that the built-in tools may read
    rounds: int = 8  # answers with calls, before the user is asked whether to continue
    servers: tuple[ServerSettings, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.folders or self.servers)


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as the model and the user see it."""

    tool: Tool  # its name is the server's, two underscores, and its own
    server: str
    read_only: bool  # as its server says
    fingerprint: str  # a hash of the description, the schema and the command


@dataclass(frozen=True, slots=True)
class ServerReport:
    """The state of a server."""

    name: str
    state: ServerState
    reason: str  # why it failed, in a sentence
    tools: tuple[OfferedTool, ...]
    errors: str  # the end of its standard error


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The end of a call: its result, or why it has none."""

    text: str
    state: "State" = "complete"
    stop: str | None = None  # why it is not complete


def tool_result(text: str, failed: bool = False) -> ToolResult:
    """Return a result, cut to fit a context, without nulls and lone surrogates."""
    shown, rest = text[:RESULT_CHARACTERS], len(text) - RESULT_CHARACTERS
    shown = well_formed(shown).replace("\0", "\ufffd")
    shown += f"\n[{rest:,} more characters were left out]" if rest > 0 else ""
    return ToolResult(shown, "failed", "failed") if failed else ToolResult(shown)


def unknown_tool(name: str) -> ToolResult:
    """Return how a call of a tool ends that is not offered."""
    return tool_result(f"There is no tool {name}.", failed=True)


class ServerStopped(Exception):
    """A server cannot be used any more; the message says why."""
