"""The one thread that owns the models: requests go in, events come out."""

import traceback
from collections.abc import Mapping
from itertools import count
from queue import Empty, SimpleQueue
from threading import RLock, Thread

from assistant.chat.context import count as count_tokens
from assistant.decoding.lookahead.policy import Control
from assistant.engine.load import Loader
from assistant.engine.race import run
from assistant.engine.reply import Assistant
from assistant.engine.weights_pool import Pool
from assistant.engine.workplace import Emit, Handler, Workplace
from assistant.events import Answered, Counted, Failed, Finished
from assistant.request import AnyJob, Count, Mode, Race, Request, Sampling, Setup
from models.errors import Bug, Cancelled, ModelError, SpecchatError

REST_S = 3.0
"""Seconds without a job after which what took long to read is put aside."""

Steering = tuple[Mode, int | None, Sampling | None]


class Engine:
    """Load models and answer requests on a thread of its own.

    `emit` is called on that thread with every event; it must not block and must not raise. Jobs are
    done in the order they are given, those of a class that is not known here by their handler. All
    methods may be called from any thread and return at once.
    """

    def __init__(self, emit: Emit, handlers: Mapping[type, Handler] | None = None) -> None:
        self._emit, self._handlers = emit, handlers or {}
        self._jobs: SimpleQueue[AnyJob | None] = SimpleQueue()
        self._control = Control()
        self._turn = RLock()  # a signal handler may cancel while its own thread gives a job
        self._given = self._begun = self._cancelled = 0  # the number of the last job that was
        self._asked = 0  # and of the last one that is to be answered
        self._steering: tuple[int, Steering] = (0, ("auto", None, None))
        self._assistant: Assistant | None = None
        self._loader: Loader | None = None
        self._pool = Pool()
        self._place = Workplace(self._pool, self._control, emit)
        self._thread = Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    def submit(self, job: AnyJob) -> None:
        """Do a job after those given so far; ends in the event of its kind, or in `Failed`."""
        with self._turn:
            self._given += 1
            if isinstance(job, Request):
                self._asked = self._given
            self._jobs.put(job)

    def load(self, setup: Setup) -> None:
        """Replace the models; ends in `Ready` or `Failed`."""
        self.submit(setup)

    def reply(self, request: Request) -> None:
        """Answer; ends in `Finished`, for several answers in `Answered`, or in `Failed`."""
        self.submit(request)

    def race(self, race: Race) -> None:
        """Answer in several lanes, in turns; ends in `RaceOver` or `Failed`.

        It loads its own models and frees them afterwards; the loaded pair stays and is shared.
        """
        self.submit(race)

    def count(self, count: Count) -> None:
        """Count the tokens of a text; ends in `Counted`, or in nothing without a model."""
        self.submit(count)

    def steer(
        self, mode: Mode, lookahead: int | None = None, sampling: Sampling | None = None
    ) -> None:
        """Change how the last answer asked for is decoded, from the next round on."""
        with self._turn:
            self._steering = self._asked, (mode, lookahead, sampling)
            if self._begun == self._asked:
                self._follow(mode, lookahead, sampling)

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

    def _run(self) -> None:
        for number in count(1):
            job = self._next()
            if job is None:
                break
            self._begin(number, job)
            self._try(job)
        self._free()

    def _next(self) -> AnyJob | None:
        """Wait for a job."""
        try:
            return self._jobs.get(timeout=REST_S)
        except Empty:
            if self._assistant is not None and self._assistant.resuming is not None:
                self._assistant.resuming.keep()
            return self._jobs.get()

    def _begin(self, number: int, job: AnyJob) -> None:
        with self._turn:
            self._begun = number
            if number > self._cancelled:
                self._control.cancel.lower()
            steered, steering = self._steering
            if isinstance(job, Request):
                self._follow(*((job.mode, job.lookahead, None) if steered < number else steering))

    def _follow(self, mode: Mode, lookahead: int | None, sampling: Sampling | None) -> None:
        control = self._control
        control.mode, control.lookahead, control.sampling = mode, lookahead, sampling

    def _try(self, job: AnyJob) -> None:
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

    def _do(self, job: AnyJob) -> None:
        match job:
            case Setup():
                self._load(job)
            case Race():
                run(job, self._pool, self._control, self._emit)
            case Count(label, text):
                if (assistant := self._assistant) is not None:
                    n_ctx = assistant.target.n_ctx
                    self._emit(Counted(label, count_tokens(text, assistant.vocab.tokenize, n_ctx)))
            case Request():
                self._answer(job)
            case _:
                self._emit(self._handlers[type(job)](job, self._place))

    def _load(self, setup: Setup) -> None:
        self._free()
        self._loader = Loader(setup, self._control, self._emit, self._pool)
        self._assistant, ready = self._loader.load()
        self._emit(ready)

    def _answer(self, request: Request) -> None:
        if self._assistant is None:
            raise ModelError("No model is loaded, so there is nothing to answer with.")
        answer = self._assistant.reply if request.answers == 1 else self._assistant.replies
        for event in answer(request, self._control):
            if isinstance(event, Finished | Answered) and self._loader:
                self._loader.keep_learnt()  # before the last word: this process may end with it
            self._emit(event)

    def _free(self) -> None:
        self._assistant = None
        self._place.free()
        if self._loader is not None:
            self._loader.close()
            self._loader = None
