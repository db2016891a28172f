"""The engine's unfinished jobs, and what a new worker must be told first."""

from collections import deque
from dataclasses import replace
from time import monotonic

from assistant.events import Failed, Ready
from assistant.request import AnyJob, Count, Request, Setup, Steer
from assistant.service import Ticket
from models.errors import Cancelled, EngineDied, ModelError

STOPPED = Failed("Stopped before it began.", Cancelled.__name__)
NO_MODEL = Failed("No model is loaded.", ModelError.__name__)
BACKOFF_CAP_S = 60.0
"""Seconds after which even a setup that ends every worker is tried again."""


class JobQueue:
    """Decide what a worker is sent next, and what becomes of every job. For one thread.

    A worker has one job at a time. One that has no models gets the last setup before the first
    request: the reload. The request hears of it, and if it fails, that is how the request ends.
    """

    def __init__(self) -> None:
        self._backoff = Backoff()
        self._waiting: deque[Ticket] = deque()
        self._doing: Ticket | None = None
        self._setup: Setup | None = None  # the last one sent
        self._forget_worker()

    def _forget_worker(self) -> None:
        self._begun = False  # whether the worker has begun what it was sent
        self._cancelled = False  # whether it was told to stop that
        self._reloading = False  # whether it was sent a setup on our own account
        self._furnished = False  # whether it has been given a setup
        self._proven = False  # whether it has done anything yet

    @property
    def at_work(self) -> AnyJob | None:
        """What the worker was sent and has not ended."""
        if self._doing is None:
            return None
        return self._setup if self._reloading else self._doing.job

    def add(self, ticket: Ticket) -> None:
        """Take a job, to be sent when those before it are over."""
        self._waiting.append(ticket)

    def cancel(self, ticket: Ticket) -> bool:
        """End a job that waits; say whether it is the worker's, which is to be told to stop it."""
        if ticket in self._waiting:
            self._waiting.remove(ticket)
            _end(ticket, STOPPED)
        self._cancelled |= ticket is self._doing
        return ticket is self._doing

    def steer(self, ticket: Ticket, how: Steer) -> bool:
        """Change a request that was not sent; say whether it was, and the worker is to be told."""
        if ticket is self._doing and not self._reloading:
            return True
        if isinstance(ticket.job, Request):
            sampling = how.sampling or ticket.job.sampling
            ticket.job = replace(
                ticket.job, mode=how.mode, lookahead=how.lookahead, sampling=sampling
            )
        return False

    def next(self) -> AnyJob | None:
        """Return what is to be sent now, if anything is; it counts as sent."""
        while self._waiting and self._doing is None:
            ticket = self._doing = self._waiting.popleft()
            self._begun = self._cancelled = False
            if isinstance(ticket.job, Setup):
                self._setup, self._furnished = ticket.job, True
            elif isinstance(ticket.job, Request) and self._setup and not self._furnished:
                if refusal := self._backoff.refusal(self._setup):
                    self.over(Failed(refusal, EngineDied.__name__))
                    continue
                self._reloading = self._furnished = True
            elif isinstance(ticket.job, Count) and not self._furnished:
                self.over(NO_MODEL)
                continue
            return self.at_work
        return None

    def begun(self) -> None:
        """Note that the worker has begun its job."""
        self._begun = True

    def said(self, event: object) -> None:
        """Pass on what the worker says before it ends its job."""
        if self._doing is not None:
            self._doing.hear(event)

    def done(self, end: object) -> None:
        """Take the last event of what the worker was sent."""
        self._proven = True
        if isinstance(end, Ready):
            self._backoff.forget()
        if self._reloading:
            self._reloading, self._furnished = False, isinstance(end, Ready)
            if self._furnished and self._doing is not None:
                self._doing.hear(end)
                if not self._cancelled:
                    self._waiting.appendleft(self._doing)
                    self._doing = None
                    return
                end = STOPPED
        self.over(end)

    def over(self, end: object) -> None:
        """End the job that is being done; the worker has no part in it any more."""
        ticket, self._doing = self._doing, None
        if ticket is not None:
            _end(ticket, end)

    def worker_died(self, sentence: str) -> None:
        """End what the worker was at, and all that was asked meanwhile of the same models.

        A job that it had not begun when it died idle is for the next one.
        """
        if isinstance(self.at_work, Setup):
            self._backoff.note_death()
        dies = self._begun or not self._proven
        died = Failed(sentence, EngineDied.__name__)
        if dies:
            self.over(died)
        self.worker_replaced()
        while dies and self._waiting and not isinstance(self._waiting[0].job, Setup):
            _end(self._waiting.popleft(), died)

    def worker_replaced(self) -> None:
        """Have what the worker was sent done by the next one, unless it was told to stop it."""
        doing, self._doing = self._doing, None
        if doing is not None and self._cancelled:
            _end(doing, STOPPED)
        elif doing is not None:
            self._waiting.appendleft(doing)
        self._forget_worker()


def _end(ticket: Ticket, end: object) -> None:
    ticket.hear(end)
    ticket.hear(None)


class Backoff:
    """Refuse to reload a setup that ends every worker too soon: first at once, then ever later."""

    def __init__(self) -> None:
        self._deaths = 0  # in a row, while loading
        self._not_before = 0.0

    def note_death(self) -> None:
        """Note that a worker has died while it loaded."""
        self._deaths += 1
        self._not_before = monotonic() + min(BACKOFF_CAP_S, 2 ** (self._deaths - 1) - 1)

    def forget(self) -> None:
        """Note that models have been loaded."""
        self._deaths, self._not_before = 0, 0.0

    def refusal(self, setup: Setup) -> str | None:
        """Return why a setup is not tried again yet, or None if it is."""
        pause = self._not_before - monotonic()
        if pause <= 0:
            return None
        return (
            f"The engine's process ended {self._deaths} times in a row while it loaded "
            f"{setup.target.name}; the next attempt is possible in {pause:.0f} seconds. "
            "Choose another model, or check this one with `specchat models check`."
        )
