"""The engine as its users see it, while it lives in a process of its own."""

import os
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from queue import SimpleQueue
from threading import Thread
from typing import Any

from assistant.process.protocol import CHAT, Cancel, Command, Protocol, Steer
from assistant.process.supervisor import Supervisor
from assistant.process.watchdog import PATIENCE
from assistant.request import AnyJob, Count, Mode, Race, Request, Sampling, Setup


class EngineProcess:
    """Load models and answer requests in another process; see `assistant.service.Service`.

    `emit` is called on a thread of this object with every event; it must not block and must not
    raise. When the other process dies or hangs, its jobs end in `Failed` of the kind `EngineDied`;
    the next one is done by a new process, which loads the models again first, with the usual
    events.
    """

    def __init__(
        self,
        emit: Callable[[Any], None],
        patience: float = PATIENCE,
        protocol: Protocol = CHAT,
    ) -> None:
        read, write = os.pipe()
        os.set_blocking(write, False)
        self._ear, self._bell = FileIO(read, "r"), FileIO(write, "w")
        self._inbox: SimpleQueue[Command | None] = SimpleQueue()
        self._keeper = Supervisor(emit, patience, protocol)
        self._thread = Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The number of the process that computes, if there is one."""
        return self._keeper.pid

    def submit(self, job: AnyJob) -> None:
        """Have a job of the protocol done; ends in one of its ends."""
        self._give(job)

    def load(self, setup: Setup) -> None:
        """Replace the models; ends in `Ready` or `Failed`."""
        self._give(setup)

    def reply(self, request: Request) -> None:
        """Answer; ends in `Finished`, for several answers in `Answered`, or in `Failed`."""
        self._give(request)

    def race(self, race: Race) -> None:
        """Answer in several lanes, in turns; ends in `RaceOver` or `Failed`."""
        self._give(race)

    def count(self, count: Count) -> None:
        """Count the tokens of a text; ends in `Counted`, or in nothing without a model."""
        self._give(count)

    def steer(
        self, mode: Mode, lookahead: int | None = None, sampling: Sampling | None = None
    ) -> None:
        """Change how the last answer asked for is decoded, from the next round on."""
        self._give(Steer(mode, lookahead, sampling))

    def cancel(self) -> None:
        """Stop every job given so far; what was decoded is kept, and a later job runs."""
        self._give(Cancel())

    def close(self) -> None:
        """End the process, the hard way after three seconds, and wait until it is gone."""
        self._give(None)
        self._thread.join()
        self._bell.close()
        self._ear.close()

    def _give(self, command: Command | None) -> None:
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
                    keeper.obey(command)
