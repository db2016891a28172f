"""Ways to ask an engine: in this process, and with one listener for all jobs."""

from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any

from assistant.engine.engine import Engine
from assistant.engine.handlers import HANDLERS
from assistant.engine.workplace import Handler
from assistant.process.client import EngineProcess
from assistant.process.job_queue import JobQueue
from assistant.request import AnyJob, Cancel, Mode, Request, Sampling, Steer
from assistant.service import Hear, Service, Ticket


class NearEngine:
    """The engine in this process, for tests that look inside; see `assistant.service.Service`."""

    def __init__(self, handlers: Mapping[type, Handler] = HANDLERS) -> None:
        self._turn, self._queue = RLock(), JobQueue()
        self._closes = False
        self.engine = Engine(self.said, self.over, handlers)

    def submit(self, job: AnyJob, hear: Hear) -> Ticket:
        ticket = Ticket(job, hear, self._tell)
        with self._turn:
            self._queue.add(ticket)
            self._advance()
        return ticket

    def close(self) -> None:
        with self._turn:
            self._closes = True
        self.engine.close()

    def said(self, event: object) -> None:
        self._queue.said(event)

    def over(self, end: object) -> None:
        with self._turn:
            self._queue.done(end)
            self._advance()

    def _tell(self, ticket: Ticket, order: Steer | Cancel) -> None:
        with self._turn:
            if isinstance(order, Steer):
                if self._queue.steer(ticket, order):
                    self.engine.steer(order)
            elif self._queue.cancel(ticket):
                self.engine.cancel()

    def _advance(self) -> None:
        if not self._closes and (job := self._queue.next()) is not None:
            self.engine.give(job)


class Asking:
    """An engine whose jobs are all heard by one listener, and stopped immediately."""

    def __init__(self, service: Service, hear: Callable[[Any], None]) -> None:
        self.service = service
        self.close = service.close
        self._hear = hear
        self._tickets: list[Ticket] = []

    @property
    def pid(self) -> int | None:
        assert isinstance(self.service, EngineProcess)
        return self.service.pid

    @property
    def inside(self) -> Engine:
        """What does the jobs, in this process."""
        assert isinstance(self.service, NearEngine)
        return self.service.engine

    def submit(self, job: AnyJob) -> Ticket:
        def hear(event: object) -> None:
            if event is not None:
                self._hear(event)

        self._tickets.append(self.service.submit(job, hear))
        return self._tickets[-1]

    def steer(
        self, mode: Mode, lookahead: int | None = None, sampling: Sampling | None = None
    ) -> None:
        """Steer the last answer asked for."""
        asked = [ticket for ticket in self._tickets if isinstance(ticket.job, Request)]
        for ticket in asked[-1:]:
            ticket.steer(mode, lookahead, sampling)

    def cancel(self) -> None:
        """Stop every job given so far."""
        for ticket in self._tickets:
            ticket.cancel()
