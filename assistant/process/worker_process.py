"""A worker process: it does jobs and emits events, and is ended if it is silent for too long."""

import asyncio
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Self

from assistant.process import wire
from assistant.process.wire import Envelope, Garbled, Protocol
from assistant.request import AnyJob, Cancel, NextStep, UpdateRequest
from assistant.service import EventStream
from models import child_process

OUTPUT_BYTES = 8192
"""Bytes of the worker's standard output and error that are remembered, the last ones."""
CHECKS = 6
"""Waits into which `patience_s` is divided. If the event loop was blocked for long, only one of
them is over, and the next one receives the messages of the worker."""
INBOX = 256
"""Events buffered before their stream; beyond them the pipe fills, and the worker waits."""
EXIT_GRACE_S = 3.0
"""Seconds that a worker has to exit by itself once its commands have ended."""


@dataclass(eq=False)
class WorkerDied(Exception):
    """The process has ended, or had to be ended, before its job."""

    status: int | None  # as `subprocess` has it; None if it cannot even be killed
    output_tail: str  # what it wrote to its standard output and error last
    reason: str  # why it was ended; empty if it ended by itself


class WorkerProcess:
    """A process that computes, until `close`."""

    patience_s = 30.0
    """Seconds in which it must give a sign of life, or stop after a cancel."""

    def __init__(self, process: Process, protocol: Protocol) -> None:
        self._process, self._protocol = process, protocol
        self._readers: list[asyncio.Task[None]] = []
        self._output = bytearray()
        self._inbox: asyncio.Queue[Envelope | None] = asyncio.Queue(INBOX)  # None: it has ended
        self._number = 0  # of the job
        self._stop_by: float | None = None  # when the job has to have ended
        self._reason = ""
        self.job: AnyJob | None = None
        """The job in progress."""
        self.has_begun = False
        """Whether it has started its last job."""
        self.is_proven = False
        """Whether it has ever ended a job."""
        self.has_setup = False
        """Whether it was given models to load."""
        self._is_starting = True  # until its first message, or its end

    @classmethod
    async def start(cls, protocol: Protocol) -> Self:
        """Start a worker; OSError if the system starts no process."""
        process = await asyncio.create_subprocess_exec(
            *child_process.command(protocol.worker),
            start_new_session=True,
            env=child_process.environment(),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
        )
        worker = cls(process, protocol)
        for reader in (worker._read_events(), worker._read_output()):
            worker._readers.append(asyncio.create_task(reader))
        return worker

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    async def do(self, job: AnyJob, stream: EventStream) -> object:
        """Have a job done; put its events into a stream, but return the last one.

        A `WorkerDied` says that the process has ended, by itself or because it hung; TooLong and
        OverflowError are those of the job's message.
        """
        self._number += 1
        self.has_begun, self._stop_by = False, None
        self._send(job)
        self.job = job
        try:
            while True:
                message = await self._next()
                if message.job != self._number:
                    continue
                self.has_begun = True
                if message.last:
                    self.is_proven = True
                    return message.content
                if message.content is not None:
                    await stream.wait_for_space()
                    stream.put(message.content)
        finally:
            self.job = None

    def cancel(self) -> None:
        """Have the worker stop its job, in good time."""
        self._stop_by = self._stop_by or monotonic() + self.patience_s
        self._send(Cancel())

    def order(self, order: UpdateRequest | NextStep) -> None:
        """Send an order about the job; drop one that cannot be sent."""
        with suppress(OverflowError):
            self._send(order)

    async def close(self) -> int | None:
        """Wait until the process has exited, kill it if necessary; return its exit status.

        None: even a kill does not end it, because it is in a system call.
        """
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self._is_starting:  # killing one that has ended would lose its exit status
            self.kill()
        for _ in range(2):  # by itself, then after a kill
            with suppress(TimeoutError):
                async with asyncio.timeout(EXIT_GRACE_S):
                    await self._process.wait()
                    break
            self.kill()
        events, output = self._readers
        events.cancel()  # nothing reads them any more
        await asyncio.wait([output], timeout=EXIT_GRACE_S)
        output.cancel()  # if another process still holds the pipe
        return self._process.returncode

    def kill(self) -> None:
        """End the process the hard way."""
        with suppress(ProcessLookupError):
            self._process.kill()

    def _send(self, content: object) -> None:
        assert self._process.stdin is not None
        message = self._protocol.commands.encode(Envelope(self._number, content))
        self._process.stdin.write(wire.frame(message))

    async def _next(self) -> Envelope:
        """Return the worker's next message; WorkerDied if it has ended, or was ended as it hung."""
        waits = 0
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.patience_s / CHECKS):
                    message = await self._inbox.get()
                    break
            waits += 1
            if waits == 1:
                self._send(None)
            elif waits > CHECKS:
                raise await self._death(f"it gave no sign of life for {self._patience}")
        if message is None:
            raise await self._death(self._reason)
        is_late = self._stop_by is not None and monotonic() > self._stop_by
        if is_late and not message.last and self._inbox.empty():
            raise await self._death(f"it did not stop within {self._patience}")
        return message

    @property
    def _patience(self) -> str:
        return f"{self.patience_s:.0f} seconds, and was stopped"

    async def _death(self, reason: str) -> WorkerDied:
        if reason:
            self.kill()
        status = await self.close()
        return WorkerDied(status, self._output.decode("utf-8", "replace"), reason)

    async def _read_events(self) -> None:
        assert self._process.stdout is not None
        try:
            while True:
                message = await wire.receive(self._process.stdout)
                self._is_starting = False
                await self._inbox.put(self._protocol.messages.decode(message))
        except EOFError:
            pass
        except Garbled:
            self._reason = "it sent an invalid message; restart specchat"
        self._is_starting = False
        await self._inbox.put(None)

    async def _read_output(self) -> None:
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(OUTPUT_BYTES):
            self._output += data
            del self._output[:-OUTPUT_BYTES]
