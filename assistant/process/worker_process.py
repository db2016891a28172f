"""A worker process, its pipes, and when its silence becomes a hang. For one thread."""

import os
import subprocess
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import Any

from assistant.process.protocol import Command, Protocol
from assistant.process.wire import Frames, framed
from models import child_process

CHUNK = 65536
NOISE = 8192
"""Bytes kept of what the worker writes to its standard output and error."""
WORKER_TIMEOUT_S = 30.0
"""Seconds that a worker may take for a sign of life, and to stop when it is told to."""
FAREWELL = 3.0
"""Seconds that a worker has to go by itself once its commands have ended."""


class WorkerProcess:
    """Start a worker; nothing of it blocks but `bury`.

    Raises:
        OSError: the system starts no process.
    """

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        read_commands, self.commands = os.pipe()
        self.events, write_events = os.pipe()
        try:
            self._process = _start(protocol.worker, read_commands, write_events)
        except OSError:
            self._close(self.commands, self.events)
            raise
        finally:
            self._close(read_commands, write_events)
        assert self._process.stdout is not None
        self.noise = self._process.stdout.fileno()
        for pipe in (self.commands, self.events, self.noise):
            os.set_blocking(pipe, False)
        self._frames = Frames()
        self._unsent: deque[memoryview] = deque()
        self._noise = bytearray()
        self.has_spoken = False
        """Whether it has said anything."""
        self.ended = False
        """Whether everything that it will ever say has been received."""

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def congested(self) -> bool:
        """Whether something waits to be sent."""
        return bool(self._unsent)

    def send(self, command: Command) -> None:
        """Send a command, now or when the worker reads again.

        Raises:
            TooLong: it is longer than a message may be.
            OverflowError: a number in it has more than 64 bits.
        """
        self._unsent.append(memoryview(framed(self._protocol.commands.encode(command))))
        self.flush()

    def flush(self) -> None:
        """Send as much as the pipe takes."""
        try:
            while self._unsent:
                self._unsent[0] = self._unsent[0][os.write(self.commands, self._unsent[0]) :]
                if not self._unsent[0]:
                    self._unsent.popleft()
        except BlockingIOError:
            pass
        except BrokenPipeError:  # the other pipe will end as well, after the last words
            self._unsent.clear()

    def receive(self) -> list[Any]:
        """Return what the worker has said since; nothing more after an end.

        Raises:
            Garbled: it has said something that is not a message.
        """
        try:
            data = os.read(self.events, CHUNK)
        except BlockingIOError:
            return []
        self.has_spoken |= bool(data)
        self.ended = not data
        return [self._protocol.messages.decode(message) for message in self._frames.feed(data)]

    def listen(self) -> bytes | None:
        """Take what it wrote to its standard output and error; empty is the end of it."""
        try:
            data = os.read(self.noise, CHUNK)
        except BlockingIOError:
            return None
        self._noise += data
        del self._noise[:-NOISE]
        return data

    @property
    def last_words(self) -> str:
        """What it wrote to its standard output and error last."""
        return self._noise.decode("utf-8", "replace")

    def kill(self) -> None:
        """End it the hard way."""
        self._process.kill()

    def bury(self, patience: float = FAREWELL) -> int | None:
        """Wait until it is gone, kill it if need be; return its exit status as Python has it.

        None is a process that even a kill does not end: the system is busy for it.
        """
        self._close(self.commands)
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(FAREWELL)
        while self.listen():
            pass
        self._close(self.events)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return self._process.returncode

    @staticmethod
    def _close(*pipes: int) -> None:
        for pipe in pipes:
            os.close(pipe)


class Watchdog:
    """Decide when a busy worker is asked for a sign of life, and when it is given up.

    A pong comes from a thread that has nothing else to do, also while llama.cpp computes.
    """

    def __init__(self, patience: float = WORKER_TIMEOUT_S) -> None:
        self._patience = patience
        self._heard = monotonic()
        self._asked: float | None = None
        self._told_to_stop: float | None = None

    @property
    def interval(self) -> float:
        """Seconds between two looks."""
        return self._patience / 6

    def heard(self) -> None:
        """Note that the worker has said something."""
        self._heard, self._asked = monotonic(), None

    def told_to_stop(self) -> None:
        """Note that the worker has to end its job soon."""
        self._told_to_stop = self._told_to_stop or monotonic()

    def job_over(self) -> None:
        """Note that the job has ended."""
        self._told_to_stop = None

    @property
    def wants_ping(self) -> bool:
        """Whether it is time to ask for a sign of life, which is then taken as done."""
        now = monotonic()
        if self._asked is not None or now - self._heard < self.interval:
            return False
        self._asked = now
        return True

    @property
    def complaint(self) -> str | None:
        """Why the worker is given up, or None."""
        now = monotonic()
        if self._asked is not None and now - self._asked > self._patience:
            return f"it gave no sign of life for {self._patience:.0f} seconds"
        if self._told_to_stop is not None and now - self._told_to_stop > self._patience:
            return f"it did not stop within {self._patience:.0f} seconds"
        return None


def _start(worker: str, commands: int, events: int) -> subprocess.Popen[bytes]:
    return child_process.start(
        worker,
        commands,
        events,
        bufsize=0,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(commands, events),
    )
