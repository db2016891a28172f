"""The thread that owns the models: it does jobs by their handlers, and emits events."""

import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from assistant.engine.control import Control
from assistant.engine.load import load
from assistant.events import Failed, Finished, PrefillDone, RaceOver, Ready, TokenCount
from assistant.request import (
    Cancel,
    CountTokens,
    EngineArgs,
    NextStep,
    Prefill,
    Race,
    Request,
    UpdateRequest,
)
from models.errors import NO_MEMORY, OUT_OF_MEMORY, Bug, Cancelled, ModelError, SpecchatError

if TYPE_CHECKING:  # `load` imports it while it reads weights
    from assistant.engine.reply import Assistant


@dataclass(slots=True)
class EngineState:
    """The loaded models, and everything else that handlers of jobs use."""

    control: Control
    emit: Callable[[Any], None]
    """Sends an event of the job, but not its last one, which the handler returns."""
    await_step: Callable[[], object]
    """Waits for a `NextStep`; not if the job was cancelled."""
    assistant: "Assistant | None" = None
    """The loaded models; None before the first `EngineArgs`, and after one that failed."""
    _created: dict[object, Any] = field(default_factory=dict)
    _opened: ExitStack = field(default_factory=ExitStack)

    def get_or_create(self, factory: Callable[["EngineState"], Any]) -> Any:
        """Return what `factory` created for an earlier job, or call it; `free` closes it."""
        if factory not in self._created:
            self._created[factory] = created = factory(self)
            self._opened.callback(created.close)
        return self._created[factory]

    def free(self) -> None:
        """Close everything that jobs have created, and free the models."""
        self.assistant = None
        self._created.clear()
        self._opened.close()

    def load(self, setup: EngineArgs) -> Ready:
        """Free all models and load others."""
        self.free()
        self.assistant, ready = load(setup, self.control, self.emit, self._opened, may_defer=True)
        return ready

    @property
    def loaded(self) -> "Assistant":
        """The loaded models; ModelError if there are none."""
        if self.assistant is None:
            raise ModelError("No model is loaded, so there is nothing to answer with.")
        return self.assistant


Handler = Callable[[Any, EngineState], object]
"""Does a job of one class and returns its last event; may raise `SpecchatError` and `Cancelled`."""


def _answer(request: Request, state: EngineState) -> Finished:
    assistant = state.loaded
    for event in assistant.reply(request, state.control):
        if isinstance(event, Finished):
            if assistant.profile:
                assistant.profile.save()  # before the last event: this process may end after it
            return event
        state.emit(event)
    raise AssertionError("an answer ends in `Finished`")


def _count_tokens(job: CountTokens, state: EngineState) -> TokenCount:
    from assistant.prompt.context import count_tokens

    tokenize, n_ctx = state.loaded.vocab.tokenize, state.loaded.target.n_ctx
    return TokenCount(count_tokens(job.text, tokenize, n_ctx))


def _race(race: Race, state: EngineState) -> RaceOver:
    from assistant.engine.race import run  # imported late: races are rare

    return run(race, state.control, state.emit, state.await_step)


def _prefill(job: Prefill, state: EngineState) -> PrefillDone:
    from assistant.engine.idle import prefill_idle  # imported late: `ask` never uses it

    for event in prefill_idle(state.loaded, job.request, state.control):
        state.emit(event)
    return PrefillDone()


HANDLERS: dict[type, Handler] = {
    EngineArgs: lambda setup, state: state.load(setup),
    Request: _answer,
    Race: _race,
    CountTokens: _count_tokens,
    Prefill: _prefill,
}

REST_S = 3.0  # idle seconds after which the KV cache of a long prompt is saved


class Engine:
    """Does one job at a time on a thread of its own, by the handler of its class.

    On that thread, `send` is called with a job's number, an event, and whether it is the last one.
    It may block, and raise an error if an event cannot be sent.
    Methods may be called from any thread, one at a time; all but `close` return immediately.
    """

    def __init__(
        self, send: Callable[[int, object, bool], None], handlers: Mapping[type, Handler]
    ) -> None:
        self._send, self._handlers = send, handlers
        self._number = 0  # of the last job
        self._job: SimpleQueue[Any] = SimpleQueue()  # the next one; never more than one
        self._control = Control()
        self._steps: SimpleQueue[NextStep | Cancel] = SimpleQueue()
        self._state = EngineState(self._control, self._emit, self._await_step)
        self._thread = Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    def submit(self, number: int, job: Any) -> None:
        """Start a job; the one before must have ended."""
        self._number, self._steps = number, SimpleQueue()
        self._control.cancel.lower()  # it may have been raised after the last job ended
        if isinstance(job, Request):
            self.order(number, UpdateRequest(job.mode, job.lookahead))
        self._job.put(job)

    def order(self, number: int, order: UpdateRequest | NextStep | Cancel) -> None:
        """Obey an order about a job, if that is in progress.

        An `UpdateRequest` counts from the next round on; a `Cancel` keeps what was decoded.
        """
        if number != self._number:
            return
        match order:
            case UpdateRequest(mode, lookahead, sampling):
                control = self._control
                control.mode, control.lookahead, control.sampling = mode, lookahead, sampling
            case NextStep():
                self._steps.put(order)
            case Cancel():
                self._control.cancel.raise_()
                self._steps.put(order)

    def close(self) -> None:
        """Stop everything, free the models and wait until the thread is gone."""
        self.order(self._number, Cancel())
        self._job.put(None)
        self._thread.join()

    def _emit(self, event: object, last: bool = False) -> None:
        self._send(self._number, event, last)

    def _await_step(self) -> None:
        if not self._control.cancel.raised:
            self._steps.get()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            self._do(job)
        self._state.free()

    def _next(self) -> Any:
        try:
            return self._job.get(timeout=REST_S)
        except Empty:
            if (assistant := self._state.assistant) and assistant.prompt_cache:
                assistant.prompt_cache.save()
            return self._job.get()

    def _do(self, job: Any) -> None:
        """Do a job and send its last event, whatever is raised."""
        try:
            self._emit(self._handlers[type(job)](job, self._state), last=True)
        except (Cancelled, SpecchatError) as error:
            reason = str(error) or "Loading was stopped."
            self._emit(Failed(reason, type(error).__name__), last=True)
        # If a bug ended the thread, every client would wait forever; the next job may succeed.
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
            failed = Failed(f"This is a bug in specchat: {what}.", Bug.__name__)
            if OUT_OF_MEMORY.search(what):
                failed = Failed(NO_MEMORY, ModelError.__name__)
            elif isinstance(error, OSError) and error.filename:  # as of a model that is gone
                reason = f"{error.filename} cannot be used: {error.strerror}."
                failed = Failed(reason, ModelError.__name__)
            self._emit(failed, last=True)
