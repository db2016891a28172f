"""The one thread that owns the models: a job goes in, events come out."""

import traceback
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from threading import Thread

from assistant.decoding.lookahead.policy import Control
from assistant.engine.weights_pool import Pool
from assistant.engine.workplace import Emit, Handler, Workplace
from assistant.events import Failed
from assistant.request import AnyJob, Request, Steer
from models.errors import Bug, Cancelled, SpecchatError

REST_S = 3.0
"""Seconds without a job after which what took long to read is saved."""


class Engine:
    """Do one job at a time on a thread of its own, by the handler of its class.

    On that thread `emit` is called with every event of a job but the last, and `over` with that
    one; they must not block and must not raise. Methods may be called from any thread, one at a
    time; all but `close` return immediately.
    """

    def __init__(self, emit: Emit, over: Emit, handlers: Mapping[type, Handler]) -> None:
        self._over, self._handlers = over, handlers
        self._job: SimpleQueue[AnyJob | None] = SimpleQueue()  # handed over; never more than one
        self._control = Control()
        self._place = Workplace(Pool(), self._control, emit)
        self._thread = Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    def give(self, job: AnyJob) -> None:
        """Do a job; the one before must be over."""
        self._control.cancel.lower()  # it may have been raised when that one was over already
        if isinstance(job, Request):
            self.steer(Steer(job.mode, job.lookahead))
        self._job.put(job)

    def steer(self, how: Steer) -> None:
        """Change how the answer under way is decoded, from the next round on."""
        control = self._control
        control.mode, control.lookahead, control.sampling = how.mode, how.lookahead, how.sampling

    def cancel(self) -> None:
        """Stop the job that is being done; what was decoded is kept."""
        self._control.cancel.raise_()

    def close(self) -> None:
        """Stop everything, free the models and wait until the thread is gone."""
        self.cancel()
        self._job.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            self._do(job)
        self._place.free()

    def _next(self) -> AnyJob | None:
        """Wait for a job."""
        try:
            return self._job.get(timeout=REST_S)
        except Empty:
            if (assistant := self._place.assistant) and assistant.resuming:
                assistant.resuming.keep()
            return self._job.get()

    def _do(self, job: AnyJob) -> None:
        """Do a job, and say how it has ended."""
        try:
            self._over(self._handlers[type(job)](job, self._place))
        except Cancelled:
            self._over(Failed("Loading was stopped.", "Cancelled"))
        except SpecchatError as error:
            self._over(Failed(str(error), type(error).__name__))
        # A thread that dies of a bug leaves everybody waiting; the next job may well succeed.
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
            self._over(Failed(f"This is a bug in specchat: {what}.", Bug.__name__))
