"""The one thread that owns the models: requests go in, events come out."""

import traceback
from collections.abc import Callable
from itertools import count
from queue import SimpleQueue
from threading import RLock, Thread

from assistant.assistant import Assistant
from assistant.control import Control
from assistant.events import Event, Failed
from assistant.loading import Loader
from assistant.request import Mode, Request, Setup
from models.errors import Bug, Cancelled, ModelError, SpecchatError

Job = Setup | Request


class Engine:
    """Load models and answer requests on a thread of its own.

    `emit` is called on that thread with every event; it must not block and must not raise. Jobs are
    done in the order they are given. All methods may be called from any thread and return at once.
    """

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._control = Control()
        self._turn = RLock()  # a signal handler may cancel while its own thread gives a job
        self._given = self._begun = self._cancelled = 0  # the number of the last job that was
        self._steering: tuple[int, Mode, int | None] = (0, "auto", None)
        self._assistant: Assistant | None = None
        self._loader: Loader | None = None
        self._thread = Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    def load(self, setup: Setup) -> None:
        """Replace the models; ends in `Ready` or `Failed`."""
        self._give(setup)

    def reply(self, request: Request) -> None:
        """Answer; ends in `Finished` or `Failed`."""
        self._give(request)

    def steer(self, mode: Mode, lookahead: int | None = None) -> None:
        """Change how the last answer asked for is decoded, from the next round on."""
        with self._turn:
            self._steering = self._given, mode, lookahead
            if self._begun == self._given:
                self._control.mode, self._control.lookahead = mode, lookahead

    def cancel(self) -> None:
        """Stop every job given so far; what was decoded is kept, and a later job runs."""
        with self._turn:
            self._cancelled = self._given
            self._control.cancel.raise_()

    def close(self) -> None:
        """Stop everything, free the models and wait until the thread is gone."""
        self.cancel()
        self._jobs.put(None)
        self._thread.join()

    def _give(self, job: Job) -> None:
        with self._turn:
            self._given += 1
            self._jobs.put(job)

    def _run(self) -> None:
        for number in count(1):
            job = self._jobs.get()
            if job is None:
                break
            self._begin(number, job)
            self._try(job)
        self._free()

    def _begin(self, number: int, job: Job) -> None:
        with self._turn:
            self._begun = number
            if number > self._cancelled:
                self._control.cancel.lower()
            steered, mode, lookahead = self._steering
            if isinstance(job, Request):
                asked = (job.mode, job.lookahead) if steered < number else (mode, lookahead)
                self._control.mode, self._control.lookahead = asked

    def _try(self, job: Job) -> None:
        try:
            self._do(job)
        except Cancelled:
            self._emit(Failed("Loading was stopped.", "Cancelled"))
        except SpecchatError as error:
            self._emit(Failed(str(error), type(error).__name__))
        # A thread that dies of a bug leaves everybody waiting; the next job may well succeed.
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
            self._emit(Failed(f"This is a bug in specchat: {what}.", Bug.__name__))

    def _do(self, job: Job) -> None:
        if isinstance(job, Setup):
            self._free()
            self._loader = Loader(job, self._control, self._emit)
            self._assistant, ready = self._loader.load()
            self._emit(ready)
        elif self._assistant is None:
            raise ModelError("No model is loaded, so there is nothing to answer with.")
        else:
            for event in self._assistant.reply(job, self._control):
                self._emit(event)

    def _free(self) -> None:
        self._assistant = None
        if self._loader is not None:
            self._loader.close()
            self._loader = None
