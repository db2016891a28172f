"""What comes from a server, before the official package reads it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCResponse

from assistant.tools.limits import TOOLS


@asynccontextmanager
async def watched(transport: Transport, changed: asyncio.Event) -> AsyncIterator[Any]:
    """Open a transport; `changed` is set when its server says that its tools are others."""
    async with transport as (read, write):
        yield _Incoming(read, changed), write


class _Incoming:
    """Cuts lists of tools where they come in: the package takes seconds to check a long one.

    Notes that tools have changed, in the order of the messages, and passes none of that on.
    """

    def __init__(self, read: Any, changed: asyncio.Event) -> None:
        self._read, self._changed = read, changed

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while True:
            match item := await self._read.__anext__():
                case SessionMessage(
                    message=JSONRPCNotification(method="notifications/tools/list_changed")
                ):
                    self._changed.set()
                    continue
                case SessionMessage(message=JSONRPCResponse(result={"tools": list(tools)})):
                    del tools[TOOLS + 1 :]
            return item

    async def __aenter__(self) -> Self:
        await self._read.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> None:
        await self._read.__aexit__(*exception)

    async def aclose(self) -> None:
        await self._read.aclose()
