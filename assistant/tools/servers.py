"""A server as the settings name it, checked before anything of it is started."""

import ipaddress
import json
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from models.errors import UsageError

BUILT_IN = "files"
"""The name under which specchat's own tools are offered; no server may have it."""
NAME = re.compile(r"[a-zA-Z0-9]+(?:[_-][a-zA-Z0-9]+)*")
LONGEST_NAME = 24
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OWN_HEADERS = {
    "accept", "accept-encoding", "connection", "content-encoding", "content-length",
    "content-type", "expect", "host", "keep-alive", "last-event-id", "te", "trailer",
    "transfer-encoding", "upgrade",
}  # fmt: skip
_PORTS = {"http": 80, "https": 443}
SHORTEST_SECRET = 6
"""Characters; what is shorter is a word like any other."""
_TWINS = str.maketrans("01i", "oll")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """A server of tools: a command to start, or the address of one that runs already.

    Raises:
        UsageError: a value cannot be used.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # besides the usual few
    cwd: str = ""  # empty: the folder in which specchat was started
    url: str = ""
    allow_host: str = ""  # the host of the address, if it is another machine
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # may hold secrets

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name) or len(self.name) > LONGEST_NAME:
            raise UsageError(
                f"A server's name has at most {LONGEST_NAME} letters and digits, and single "
                f"hyphens or underscores between them: {self.name!r}"
            )
        if lookalike(self.name) == lookalike(BUILT_IN):
            raise UsageError(f'"{BUILT_IN}" is the name of built-in tools: rename {self.name!r}')
        if bool(self.command) == bool(self.url):
            raise UsageError(f'The server "{self.name}" needs either a command or a url')
        for text in (
            self.command,
            *self.args,
            self.cwd,
            *(part for pair in self.env for part in pair),
        ):
            if "\0" in text:
                raise UsageError(f'A value of the server "{self.name}" has a null character')
        if any(not key or "=" in key for key, _ in self.env):
            raise UsageError(f'The server "{self.name}" names a variable that cannot be set')
        if self.url:
            self._check_address()
        self._check_headers()

    @property
    def identity(self) -> str:
        """What is started or asked: an approval of a tool is for exactly that."""
        return json.dumps([self.command, self.args, self.cwd, self.url])

    def _check_address(self) -> None:
        try:
            parts = urlsplit(self.url)
            host, _ = parts.hostname or "", parts.port
        except ValueError:
            parts, host = urlsplit(""), ""
        if parts.scheme not in {"http", "https"} or not host or parts.username is not None:
            raise UsageError(
                f'The url of the server "{self.name}" must be like http://127.0.0.1:8000/mcp: '
                f"{self.url}"
            )
        if not self.may_contact(host):
            raise UsageError(
                f'The server "{self.name}" is on another machine, {host}. If it may see what its '
                f'tools are called with, set allow_host = "{host}"'
            )

    def _check_headers(self) -> None:
        """Refuse headers that change what is asked of whom; none is shown but by its name."""
        names = [name.lower() for name, _ in self.headers]
        if names and not self.url:
            raise UsageError(f'The server "{self.name}" has headers, which need a url')
        for name, value in self.headers:
            low = name.lower()
            if not HEADER.fullmatch(name) or low in _OWN_HEADERS or low.startswith("mcp-"):
                raise UsageError(f'The server "{self.name}" cannot have a header {name!r}')
            if names.count(low) > 1:
                raise UsageError(f'The server "{self.name}" has the header {name} twice')
            if not (value.isascii() and value.isprintable() and value == value.strip() != ""):
                raise UsageError(
                    f'The header {name} of the server "{self.name}" is empty, has a space at an '
                    "end, or has characters other than printable ASCII"
                )

    def without_secrets(self, text: str) -> str:
        """Return a text without what the headers say, should a server repeat that."""
        for _, value in self.headers:
            for secret in (value, value.rpartition(" ")[2]):
                if len(secret) >= SHORTEST_SECRET:
                    text = text.replace(secret, "[secret]")
        return text

    def is_address(self, scheme: str, host: str, port: int | None) -> bool:
        """Whether these are of the address that the settings name, to which alone headers go."""
        parts = urlsplit(self.url)
        ours, theirs = (each or _PORTS.get(parts.scheme) for each in (parts.port, port))
        return (scheme, host.lower(), theirs) == (parts.scheme, parts.hostname, ours)

    def may_contact(self, host: str) -> bool:
        """Whether a host is this machine, or the one that the settings allow."""
        return is_here(host) or bool(host and host.lower() == self.allow_host.lower())


def is_here(host: str) -> bool:
    """Whether a host's name or address is always this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def lookalike(name: str) -> str:
    """Return what a name has in common with those that a reader may take for it."""
    plain = name.casefold().replace("-", "").replace("_", "").translate(_TWINS)
    return plain.replace("rn", "m").replace("vv", "w")
