"""What has been asked of the engine and is not over, and what a new worker must be told first."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from assistant.events import Failed
from assistant.process.backoff import Backoff
from assistant.process.protocol import Steer
from assistant.request import AnyJob, Count, Request, Setup
from models.errors import Cancelled, EngineDied

STOPPED = Failed("Stopped before it began.", Cancelled.__name__)


class JobQueue:
    """Decide what is sent to a worker next, and what becomes of every job.

    A worker that has no models gets the last setup before the first request: the reload. Its events
    go out as usual; if it fails, that is how the request ends. `ends` are the events that end jobs.
    """

    def __init__(self, emit: Callable[[Any], None], ends: Any) -> None:
        self._emit, self._ends = emit, ends
        self._backoff = Backoff()
        self._waiting: deque[AnyJob | Steer] = deque()
        self._setup: Setup | None = None  # the last one sent
        self._forget_worker()

    def _forget_worker(self) -> None:
        self._sent: deque[AnyJob] = deque()
        self._begun = False  # whether it has begun the oldest of them
        self._end: object = None  # what it has said about the end of that one
        self._cancelled = 0  # how many of them it was told to stop
        self._furnished = False  # whether it has been given a setup
        self._reload: Setup | None = None  # the one it was given on our own account
        self._proven = False  # whether it has done anything yet

    @property
    def sent(self) -> int:
        """How many jobs the worker has not ended yet."""
        return len(self._sent)

    @property
    def doing(self) -> AnyJob | None:
        """What the worker is at."""
        return self._sent[0] if self._sent and self._end is None else None

    def add(self, command: AnyJob | Steer) -> None:
        """Take what is to be sent as soon as it may be."""
        self._waiting.append(command)

    def cancel(self) -> None:
        """End what has not been sent; what has been, the worker is told to stop."""
        self._cancelled = len(self._sent)
        self._drop(self._waiting, STOPPED)
        self._waiting.clear()

    def next(self) -> AnyJob | Steer | None:
        """Return what is to be sent now; it counts as sent."""
        while self._waiting and self._reload is None:
            command = self._waiting.popleft()
            if isinstance(command, Steer):
                return command
            if isinstance(command, Request) and not self._furnished and self._setup:
                if refusal := self._backoff.refusal(self._setup):
                    self._emit(Failed(refusal, EngineDied.__name__))
                    continue
                self._waiting.appendleft(command)
                self._reload = self._setup
                return self._send(self._setup)
            if self._furnished or not isinstance(command, Count):
                return self._send(command)
        return None

    def _send(self, job: AnyJob) -> AnyJob:
        if isinstance(job, Setup):
            self._setup, self._furnished = job, True
        self._sent.append(job)
        return job

    def take_back(self, message: str, kind: str) -> None:
        """Fail the job that was sent last: it never left."""
        self._drop([self._sent.pop()], Failed(message, kind))

    def begun(self) -> None:
        """Note that the worker has begun its oldest job."""
        self._begun = True

    def said(self, event: object) -> None:
        """Pass on what the worker says."""
        if isinstance(event, self._ends):
            self._end = event
            if isinstance(event, Failed) and self._cancelled and self._is_reload(self._sent[0]):
                return  # the request that it was for has been told
        self._emit(event)

    def done(self) -> None:
        """Note that the worker has ended its oldest job."""
        job, failed = self._sent.popleft(), isinstance(self._end, Failed)
        if isinstance(job, Setup) and not failed:
            self._backoff.forget()
        if self._is_reload(job):
            self._reload, self._furnished = None, not failed
            if failed and not self._cancelled and self._waiting:
                self._waiting.popleft()
        self._begun, self._end, self._proven = False, None, True
        self._cancelled = max(0, self._cancelled - 1)

    def worker_died(self, sentence: str) -> None:
        """End what the worker was at, and all that was asked meanwhile.

        Jobs that a worker had not begun when it died idle are for the next one.
        """
        if self._sent and isinstance(self._sent[0], Setup):
            self._backoff.note_death()
        dies = self._end is None and (self._begun or not self._proven)
        told = self._sent.popleft() if self._sent and self._end is not None else None
        cancelled = max(0, self._cancelled - 1) if told else self._cancelled
        # The request that a reload was for tells of its end, or is the reason for the next one.
        sent = [job for job in self._sent if not self._is_reload(job)]
        self._forget_worker()
        if dies:
            self._drop([*sent, *self._waiting], Failed(sentence, EngineDied.__name__))
            self._waiting.clear()
        else:
            self._drop(sent[:cancelled], STOPPED)
            self._waiting.extendleft(reversed(sent[cancelled:]))

    def _is_reload(self, job: AnyJob) -> bool:
        return job is self._reload

    def _drop(self, jobs: Iterable[AnyJob | Steer], end: Failed) -> None:
        for job in jobs:
            if not isinstance(job, Count | Steer):
                self._emit(end)
