"""Why a server stopped, and the end of what it wrote to its standard error."""

import asyncio

from assistant.tools.limits import ERROR_BYTES


class ServerStopped(Exception):
    """A server cannot be used any more; the text says why."""


class ErrorTail:
    """Keeps the last bytes, whatever they are."""

    def __init__(self) -> None:
        self._kept = b""

    def add(self, data: bytes) -> None:
        """Keep these bytes, and forget the oldest."""
        self._kept = (self._kept + data)[-ERROR_BYTES:]

    async def follow(self, stream: asyncio.StreamReader) -> None:
        """Keep what a stream says, to its end."""
        while data := await stream.read(ERROR_BYTES):
            self.add(data)

    def __str__(self) -> str:
        return self._kept.decode("utf-8", "replace").replace("\0", "\ufffd").strip()
