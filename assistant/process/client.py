"""The engine as its users see it: a process that is started, used, watched and replaced."""

import os
import select
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import FileIO
from queue import SimpleQueue
from threading import Thread

from assistant.events import Failed
from assistant.process.crash_report import obituary
from assistant.process.job_queue import JobQueue
from assistant.process.protocol import CHAT, Begun, Command, Last, Ping, Pong, Protocol
from assistant.process.wire import Garbled, TooLong
from assistant.process.worker_process import WORKER_TIMEOUT_S, Watchdog, WorkerProcess
from assistant.request import AnyJob, Cancel, Steer
from assistant.service import Hear, Ticket
from models.errors import OtherEngine, UsageError


class EngineProcess:
    """Load models and answer requests in another process; see `assistant.service.Service`.

    Jobs are heard of on a thread of this object. When the other process dies or hangs, they end in
    `Failed` of the kind `EngineDied`; the next one is done by a new process, which loads the models
    again first, with the usual events.
    """

    def __init__(self, patience: float = WORKER_TIMEOUT_S, protocol: Protocol = CHAT) -> None:
        read, write = os.pipe()
        os.set_blocking(write, False)
        self._ear, self._bell = FileIO(read, "r"), FileIO(write, "w")
        self._inbox: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        # What follows belongs to the thread.
        self._queue = JobQueue()
        self._patience, self._protocol = patience, protocol
        self._watch = Watchdog(patience)
        self._child: WorkerProcess | None = None
        self._noisy = False  # whether the child may still write to its standard output
        self._ending = False  # whether it says the last of a job next
        self._thread = Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The number of the process that computes, if there is one."""
        child = self._child
        return child.pid if child else None

    def submit(self, job: AnyJob, hear: Hear) -> Ticket:
        """Have a job of the protocol done after those before it; return at once."""
        ticket = Ticket(job, hear, self._tell)
        self._give(partial(self._add, ticket))
        return ticket

    def close(self) -> None:
        """End the process, the hard way after three seconds, and wait until it is gone."""
        self._give(None)
        self._thread.join()
        self._bell.close()
        self._ear.close()

    def _tell(self, ticket: Ticket, order: Steer | Cancel) -> None:
        self._give(partial(self._obey, ticket, order))

    def _give(self, command: Callable[[], None] | None) -> None:
        """Hand a command over; a signal handler may interrupt this method and do so."""
        self._inbox.put(command)
        with suppress(ValueError, BrokenPipeError):  # closed
            self._bell.write(b"\0")  # when the pipe is full, the other thread is awake anyway

    def _run(self) -> None:
        # A worker asks to be killed when the thread that started it ends, so this one does it all.
        self._start()  # before it is needed: the import of llama.cpp takes a while
        try:
            while True:
                self._wait()
                while not self._inbox.empty():
                    command = self._inbox.get()
                    if command is None:
                        return
                    command()
        finally:
            if self._child is not None:
                if not self._child.has_spoken:  # nor does it listen yet
                    self._child.kill()
                self._child.bury()
                self._child = None

    def _add(self, ticket: Ticket) -> None:
        self._queue.add(ticket)
        self._advance()

    def _obey(self, ticket: Ticket, order: Steer | Cancel) -> None:
        if isinstance(order, Steer):
            if self._queue.steer(ticket, order):
                self._send(order)
        elif self._queue.cancel(ticket):
            self._watch.told_to_stop()
            self._send(order)

    def _wait(self) -> None:
        """Do something for the worker, if there is need; return when there may be a command."""
        poll = select.poll()
        poll.register(self._ear, select.POLLIN)
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
        if self._ear.fileno() in ready:
            self._ear.read(4096)

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
            self._bury(child, "it sent an invalid message; restart specchat")
        else:
            if child.ended and self._child is child:
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
            case Failed(kind=OtherEngine.__name__) if self._ending:
                self._replace()
            case _ if self._ending:
                self._ending = False
                self._watch.job_over()
                self._queue.done(said)
            case _:
                self._queue.said(said)

    def _look_after(self, child: WorkerProcess) -> None:
        if complaint := self._watch.complaint:
            child.kill()
            self._bury(child, f"{complaint}, and was stopped")
            self._advance()
        elif self._watch.wants_ping:
            child.send(Ping())

    def _bury(self, child: WorkerProcess, reason: str = "") -> None:
        self._child = None
        status = child.bury()
        self._queue.worker_died(obituary(self._queue.at_work, status, child.last_words, reason))

    def _replace(self) -> None:
        """Have a new worker do the job: this one has loaded another engine than that needs."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.bury()
        self._queue.worker_replaced()

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
            self._refuse(command, f"This is too long to read: {error}.")
        except OverflowError:
            self._refuse(command, "A number in this is too large.")

    def _refuse(self, command: Command, why: str) -> None:
        if not isinstance(command, Steer):  # which has no end to be told of
            self._queue.over(Failed(why, UsageError.__name__))
