"""Other machines that compute layers of a model, as named by llama.cpp's own variable."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from models.errors import UsageError

VARIABLE = "LLAMA_ARG_RPC"


@dataclass(frozen=True, slots=True)
class RpcServer:
    """Where llama.cpp's `rpc-server` listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return it in llama.cpp's format."""
        return f"{self.host}:{self.port}"


def servers(environment: Mapping[str, str] = os.environ) -> tuple[RpcServer, ...]:
    """Return the named servers, as in HOST:PORT,HOST:PORT.

    Raises:
        UsageError: one lacks a host or a port.
    """
    return tuple(_server(each.strip()) for each in environment.get(VARIABLE, "").split(",") if each)


def _server(text: str) -> RpcServer:
    host, _, port = text.rpartition(":")
    if not (host and port.isdecimal() and port.isascii() and 0 < int(port) < 1 << 16):
        raise UsageError(f"{VARIABLE} must be HOST:PORT, or several with commas: {text!r}")
    return RpcServer(host, int(port))
