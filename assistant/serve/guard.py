"""Who may ask: programs on this machine, and on others those that know the token.

A page in a browser is a program of strangers on this machine. It may send requests here, even under
its own name that it has made to mean 127.0.0.1, so the names that it cannot forge are looked at:
Host and Origin.
"""

import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from assistant.serve.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules for one address that is listened at."""

    host: str
    token: str | None

    def refusal(self, headers: Mapping[str, str]) -> Refusal | None:
        """Say why a request with these headers, their names in lower case, is not let through.

        It may come from a page in a browser, or lack the token.
        """
        if self.token is None and not is_local(_name(headers.get("host", ""))):
            return Refusal(403, "The Host header must name this machine.", "foreign_host")
        origin = headers.get("origin")
        if origin is not None and not is_local(_name(origin)):
            return Refusal(403, "Web pages of other sites may not ask.", "foreign_origin")
        if self.token is not None and not self._is_known(headers.get("authorization", "")):
            return Refusal(
                401,
                "The header Authorization: Bearer TOKEN is missing or wrong.",
                "invalid_api_key",
                headers={"www-authenticate": "Bearer"},
            )
        return None

    def _is_known(self, authorization: str) -> bool:
        scheme, _, token = authorization.partition(" ")
        same = secrets.compare_digest(token.strip().encode(), (self.token or "").encode())
        return scheme.lower() == "bearer" and same


def is_local(host: str) -> bool:
    """Say whether a host is this machine by any of its loopback addresses."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _name(origin: str) -> str:
    """Return the host of an origin, or of a Host header."""
    try:
        return urlsplit(origin if "//" in origin else f"//{origin}").hostname or ""
    except ValueError:
        return ""
