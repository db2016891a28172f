"""The engine as its users see it, while it lives in a process of its own."""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import FileIO
from queue import SimpleQueue
from threading import Thread

from assistant.process.protocol import CHAT, Protocol
from assistant.process.supervisor import Supervisor
from assistant.process.watchdog import PATIENCE
from assistant.request import AnyJob, Cancel, Steer
from assistant.service import Hear, Ticket


class EngineProcess:
    """Load models and answer requests in another process; see `assistant.service.Service`.

    Jobs are heard of on a thread of this object. When the other process dies or hangs, they end in
    `Failed` of the kind `EngineDied`; the next one is done by a new process, which loads the models
    again first, with the usual events.
    """

    def __init__(self, patience: float = PATIENCE, protocol: Protocol = CHAT) -> None:
        read, write = os.pipe()
        os.set_blocking(write, False)
        self._ear, self._bell = FileIO(read, "r"), FileIO(write, "w")
        self._inbox: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._keeper = Supervisor(patience, protocol)
        self._thread = Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The number of the process that computes, if there is one."""
        return self._keeper.pid

    def submit(self, job: AnyJob, hear: Hear) -> Ticket:
        """Have a job of the protocol done after those before it; return at once."""
        ticket = Ticket(job, hear, self._tell)
        self._give(partial(self._keeper.submit, ticket))
        return ticket

    def close(self) -> None:
        """End the process, the hard way after three seconds, and wait until it is gone."""
        self._give(None)
        self._thread.join()
        self._bell.close()
        self._ear.close()

    def _tell(self, ticket: Ticket, order: Steer | Cancel) -> None:
        self._give(partial(self._keeper.tell, ticket, order))

    def _give(self, command: Callable[[], None] | None) -> None:
        """Hand a command over; a signal handler may do so in the middle of this very method."""
        self._inbox.put(command)
        with suppress(ValueError, BrokenPipeError):  # closed
            self._bell.write(b"\0")  # when the pipe is full, the other thread is awake anyway

    def _run(self) -> None:
        # A worker asks to be killed when the thread that started it ends, so this one does it all.
        with self._keeper as keeper:
            while True:
                if keeper.wait(self._ear.fileno()):
                    self._ear.read(4096)
                while not self._inbox.empty():
                    command = self._inbox.get()
                    if command is None:
                        return
                    command()
