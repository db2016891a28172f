"""The settings of a server, checked before anything is started."""

import json
import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from models.errors import UsageError
from models.machine import is_local

BUILT_IN = "files"  # the name of the built-in tools, which no server may have
NAME = re.compile(r"[a-zA-Z0-9]+(?:[_-][a-zA-Z0-9]+)*")
LONGEST_NAME = 24
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
SHORTEST_SECRET = 6  # characters; a shorter one may be part of any text


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """A server of tools: a command to run, or the address of a running one.

    Raises:
        UsageError: a value cannot be used.
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
