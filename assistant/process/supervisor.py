"""Keep a worker at work: start it, feed it, hear it, watch it, and replace it when it is gone."""

import select
from types import TracebackType
from typing import Self

from assistant.events import Failed
from assistant.process.crash_report import obituary
from assistant.process.frames import TooLong
from assistant.process.job_queue import JobQueue
from assistant.process.protocol import Begun, Command, Last, Ping, Pong, Protocol
from assistant.process.watchdog import Watchdog
from assistant.process.wire import Garbled
from assistant.process.worker_process import WorkerProcess
from assistant.request import Cancel, Steer
from assistant.service import Ticket
from models.errors import UsageError


class Supervisor:
    """Pass jobs to a worker and its events to whoever asked, all on one thread."""

    def __init__(self, patience: float, protocol: Protocol) -> None:
        self._queue = JobQueue()
        self._patience, self._protocol = patience, protocol
        self._watch = Watchdog(patience)
        self._child: WorkerProcess | None = None
        self._noisy = False  # whether the child may still write to its standard output
        self._ending = False  # whether it says the last of a job next

    @property
    def pid(self) -> int | None:
        """The number of the worker's process; may be asked on any thread."""
        child = self._child
        return child.pid if child else None

    def __enter__(self) -> Self:
        """Start a worker before it is needed: the import of llama.cpp takes a while."""
        self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the worker."""
        if self._child is not None:
            if not self._child.has_spoken:  # nor does it listen yet
                self._child.kill()
            self._child.bury()
            self._child = None

    def submit(self, ticket: Ticket) -> None:
        """Have a job done after those before it."""
        self._queue.add(ticket)
        self._advance()

    def tell(self, ticket: Ticket, order: Steer | Cancel) -> None:
        """Steer or stop a job."""
        if isinstance(order, Steer):
            if self._queue.steer(ticket, order):
                self._send(order)
        elif self._queue.cancel(ticket):
            self._watch.told_to_stop()
            self._send(order)

    def wait(self, ear: int) -> bool:
        """Do something for the worker, if there is need; return when `ear` can be read or so."""
        poll = select.poll()
        poll.register(ear, select.POLLIN)
        child = self._child
        if child is not None:
            poll.register(child.events, select.POLLIN)
            if self._noisy:
                poll.register(child.noise, select.POLLIN)
            if child.congested:
                poll.register(child.commands, select.POLLOUT)
        busy = child is not None and self._queue.at_work
        ready = {pipe for pipe, _ in poll.poll(self._watch.interval * 1000 if busy else None)}
        if child is not None:
            self._serve(child, ready)
        return ear in ready

    def _serve(self, child: WorkerProcess, ready: set[int]) -> None:
        if child.noise in ready:
            self._noisy = child.listen() != b""
        if child.commands in ready:
            child.flush()
        if child.events in ready:
            self._hear(child)
        if self._child is child and self._queue.at_work:
            self._look_after(child)

    def _hear(self, child: WorkerProcess) -> None:
        self._watch.heard()
        try:
            for said in child.receive():
                self._pass_on(said)
        except Garbled:
            child.kill()
            self._bury(child, "it said something that makes no sense; restart specchat")
        else:
            if child.ended:
                self._bury(child)
        self._advance()

    def _pass_on(self, said: object) -> None:
        match said:
            case Pong():
                pass
            case Begun():
                self._queue.begun()
            case Last():
                self._ending = True
            case _ if self._ending:
                self._ending = False
                self._watch.job_over()
                self._queue.done(said)
            case _:
                self._queue.said(said)

    def _look_after(self, child: WorkerProcess) -> None:
        if complaint := self._watch.complaint:
            child.kill()
            self._bury(child, f"{complaint}, and was ended")
            self._advance()
        elif self._watch.wants_ping:
            child.send(Ping())

    def _bury(self, child: WorkerProcess, reason: str = "") -> None:
        self._child = None
        status = child.bury()
        self._queue.worker_died(obituary(self._queue.at_work, status, child.last_words, reason))

    def _start(self) -> bool:
        """Start a worker; without one, everything fails."""
        try:
            self._child = WorkerProcess(self._protocol)
        except OSError as error:
            self._queue.worker_died(f"The engine's process cannot be started ({error}).")
            return False
        self._noisy, self._ending, self._watch = True, False, Watchdog(self._patience)
        return True

    def _advance(self) -> None:
        """Send what may be sent."""
        while command := self._queue.next():
            if self._child is None and not self._start():
                return
            self._send(command)

    def _send(self, command: Command) -> None:
        try:
            if self._child is not None:
                self._child.send(command)
        except TooLong as error:
            self._refuse(command, f"This is too long to be read at once: {error}.")
        except OverflowError:
            self._refuse(command, "A number in this is too large.")

    def _refuse(self, command: Command, why: str) -> None:
        if not isinstance(command, Steer):  # which has no end to be told of
            self._queue.over(Failed(why, UsageError.__name__))
