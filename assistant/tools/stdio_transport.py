"""The messages of a server that is a process: one line of JSON each, through its stdin and stdout.

The official package's own transport keeps a line of any length and follows a server that sends
forever, and its servers outlive a program that is killed.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, jsonrpc_message_adapter

from assistant.tools import keeper
from assistant.tools.json_values import parsed
from assistant.tools.limits import MESSAGE_BYTES, STOP_S, UNASKED
from assistant.tools.server_errors import ErrorTail, ServerStopped
from assistant.tools.servers import ServerSettings

INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
"""The variables that a server gets: others may hold secrets."""
CHUNK = 65_536
Streams = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]


@asynccontextmanager
async def process_streams(server: ServerSettings, errors: ErrorTail) -> AsyncIterator[Streams]:
    """Start a server, and end it on leaving. Cancels what is within when the server ends.

    Raises:
        ServerStopped: it cannot be started, it ended, or it broke a limit.
    """
    process, lifeline = await _start(server)
    assert process.stdin
    assert process.stderr
    deliver, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, written = anyio.create_memory_object_stream[SessionMessage](0)
    incoming = _Incoming(deliver, errors)
    async with anyio.create_task_group() as tasks, deliver, read, write, written:
        tasks.start_soon(errors.follow, process.stderr)
        tasks.start_soon(_send, written, process.stdin, incoming)
        tasks.start_soon(_receive, process, incoming)
        try:
            yield read, write
        finally:
            incoming.closing = True
            with anyio.CancelScope(shield=True):
                await _end(process, lifeline)
            tasks.cancel_scope.cancel()


async def _start(server: ServerSettings) -> tuple[asyncio.subprocess.Process, int]:
    """Return the keeper of a server, and the end of the pipe that keeps both alive."""
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
    environment |= dict(server.env)
    command = shutil.which(server.command, path=environment.get("PATH", os.defpath))
    if not command:
        raise ServerStopped(
            f'There is no program "{server.command}". Install it, or change command.'
        )
    if server.cwd and not Path(server.cwd).is_dir():
        raise ServerStopped(f"There is no folder {server.cwd}. Change cwd.")
    watched, lifeline = os.pipe()
    kept = [sys.executable, "-I", "-S", keeper.__file__, str(watched)]
    try:
        return await asyncio.create_subprocess_exec(
            *kept, os.path.abspath(command), *server.args,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, env=environment, cwd=server.cwd or None,
            pass_fds=[watched], start_new_session=True,  # it ignores the terminal's signals
        ), lifeline  # fmt: skip
    except BaseException:  # cancelled, too: the keeper would never end
        os.close(lifeline)
        raise
    finally:
        os.close(watched)


async def _end(process: asyncio.subprocess.Process, lifeline: int) -> None:
    assert process.stdin
    process.stdin.close()  # by which a server knows that it should end
    with suppress(TimeoutError):
        await asyncio.wait_for(_exited(process), STOP_S)
    os.close(lifeline)
    try:
        await asyncio.wait_for(_exited(process), keeper.ASKED_S + STOP_S)
    except TimeoutError:
        process.kill()
        await _exited(process)
    process._transport.close()  # type: ignore[attr-defined]  # what left its group may hold the pipes


async def _exited(process: asyncio.subprocess.Process) -> None:
    while process.returncode is None:  # wait() would wait for the pipes as well
        await asyncio.sleep(0.01)


class _Incoming:
    """What a server sends, and how many messages that were since it was asked."""

    def __init__(
        self, deliver: MemoryObjectSendStream[SessionMessage | Exception], errors: ErrorTail
    ) -> None:
        self._deliver = deliver
        self._errors = errors
        self.unasked = 0
        self.closing = False

    async def take(self, line: bytes) -> None:
        try:
            message = jsonrpc_message_adapter.validate_python(parsed(line), by_name=False)
        except (ValueError, RecursionError):
            message = None
            if line.startswith(b'{"jsonrpc"'):  # somebody waits for it
                raise ServerStopped("It sent a message that breaks the protocol.") from None
            if line.strip():
                self._errors.add(b"[no message] " + line[:200] + b"\n")
        self.unasked += 1
        if self.unasked > UNASKED:
            raise ServerStopped("It sends messages without end, so it was stopped.")
        if message:
            await self._deliver.send(SessionMessage(message))


async def _receive(process: asyncio.subprocess.Process, incoming: _Incoming) -> None:
    assert process.stdout
    line = bytearray()
    while chunk := await process.stdout.read(CHUNK):
        if incoming.closing:
            continue
        *ended, rest = chunk.split(b"\n")
        with suppress(anyio.BrokenResourceError):  # nobody listens: it will be closed
            for part in ended:
                await incoming.take(bytes(line + part))
                line.clear()
        line += rest
        if len(line) > MESSAGE_BYTES:
            said = f"{MESSAGE_BYTES / 1e6:g} MB are the most"
            raise ServerStopped(f"It sent a message without end ({said}), so it was stopped.")
    if incoming.closing:
        return
    with suppress(TimeoutError):
        await asyncio.wait_for(_exited(process), STOP_S)
    code = process.returncode
    raise ServerStopped(
        "It closed its output." if code is None else f"It ended by itself (exit code {code})."
    )


async def _send(
    written: MemoryObjectReceiveStream[SessionMessage],
    stdin: asyncio.StreamWriter,
    incoming: _Incoming,
) -> None:
    with suppress(ConnectionError):  # it ended, which its reader says
        async for each in written:
            if isinstance(each.message, JSONRPCRequest):
                incoming.unasked = 0
            data = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            stdin.write(data.encode() + b"\n")
            await stdin.drain()
