"""Access control: requests are accepted from this machine, and from others with the token.

A web page runs foreign code on this machine. It may send requests here, also through its own host
name after DNS has rebound that to 127.0.0.1. So the two headers that a page cannot forge are
checked: Host and Origin.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from assistant.serve.api_error import ApiError, shorten
from models.machine import is_local

_HOST = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?"
_ORIGIN = rf"[A-Za-z][A-Za-z0-9+.-]*://{_HOST}"
_CLOSE = {"connection": "close"}  # a stranger's connection is not kept


@dataclass(frozen=True, slots=True)
class Guard:
    """Who may ask: without a token, this machine alone."""

    token: str | None
    origins: tuple[str, ...] = ()  # of pages that may ask, and read the answers

    def check(self, headers: Mapping[str, str], method: str) -> ApiError | None:
        """Return why a request with these headers, named in lower case, is refused; else None."""
        host, origin = headers.get("host", ""), headers.get("origin")
        is_preflight = method == "OPTIONS" and "access-control-request-method" in headers
        if self.token is None and not _is_local_name(_HOST, host):
            why = "The Host header must name this machine."
            return ApiError(403, why, "foreign_host", headers=_CLOSE)
        is_named = origin in self.origins
        is_local_page = origin is not None and _is_local_name(_ORIGIN, origin)
        if not is_named and (is_preflight or (origin is not None and not is_local_page)):
            why = f"The page {shorten(origin or '')} may not ask; allow_origins may name it."
            return ApiError(403, why, "foreign_origin", headers=_CLOSE)
        if is_preflight:  # browsers send it without a token
            return None
        scheme, _, token = headers.get("authorization", "").partition(" ")
        same = secrets.compare_digest(token.strip().encode(), (self.token or "").encode())
        if self.token is not None and not (same and scheme.lower() == "bearer"):
            why = "The header Authorization: Bearer TOKEN is missing or wrong."
            more = {"www-authenticate": "Bearer", **_CLOSE}
            return ApiError(401, why, "invalid_api_key", headers=more)
        return None


def _is_local_name(pattern: str, text: str) -> bool:
    """Whether a header matches a pattern, and the host in it is this machine."""
    match = re.fullmatch(pattern, text)
    return match is not None and is_local(match[1].strip("[]"))
