"""How the engine does each class of job, and what it holds from one job to the next."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from assistant.chat import context
from assistant.engine.load import Loader
from assistant.engine.policy import Control
from assistant.engine.reply import Assistant
from assistant.events import Answered, Counted, Finished, RaceOver, Ready
from assistant.request import Count, Race, Request, Setup
from models.errors import ModelError


@dataclass(slots=True)
class EngineState:
    """The models that are loaded, and what the handlers of all jobs work with."""

    control: Control
    emit: Callable[[Any], None]
    """Sends an event of the job, but not its last one, which the handler returns."""
    await_step: Callable[[], bool]
    """Wait for a `NextStep`; False means that the job was cancelled and awaits no more of them."""
    loader: Loader | None = None
    assistant: Assistant | None = None
    """The loaded models; None before the first `Setup`, and after one that failed."""
    _made: dict[object, Any] = field(default_factory=dict)
    _opened: ExitStack = field(default_factory=ExitStack)

    def get_or_create(self, factory: Callable[["EngineState"], Any]) -> Any:
        """Return what `factory` made for an earlier job, or have it made; `free` closes it."""
        if factory not in self._made:
            self._made[factory] = made = factory(self)
            self._opened.callback(made.close)
        return self._made[factory]

    def free(self) -> None:
        """Close everything that jobs have created, and free the models."""
        self.assistant = self.loader = None
        self._made.clear()
        self._opened.close()

    def load(self, setup: Setup) -> Ready:
        """Free all models and load others."""
        self.free()
        self.loader = Loader(setup, self.control, self.emit)
        self._opened.callback(self.loader.close)
        self.assistant, ready = self.loader.load()
        return ready

    @property
    def loaded(self) -> Assistant:
        """The loaded models.

        Raises:
            ModelError: there are none.
        """
        if self.assistant is None:
            raise ModelError("No model is loaded, so there is nothing to answer with.")
        return self.assistant


Handler = Callable[[Any, EngineState], object]
"""Does a job of one class and returns its last event; may raise `SpecchatError` and `Cancelled`."""


def _load(setup: Setup, state: EngineState) -> Ready:
    return state.load(setup)


def _answer(request: Request, state: EngineState) -> Finished | Answered:
    assistant = state.loaded
    answer = assistant.reply if request.answers == 1 else assistant.replies
    for event in answer(request, state.control):
        if isinstance(event, Finished | Answered):
            if state.loader:
                state.loader.keep_learnt()  # before the last word: this process may end with it
            return event
        state.emit(event)
    raise AssertionError("an answer ends in one of them")


def _count(count: Count, state: EngineState) -> Counted:
    chat = state.loaded
    n_ctx = chat.target.n_ctx
    return Counted(count.label, context.count(count.text, chat.vocab.tokenize, n_ctx))


def _race(race: Race, state: EngineState) -> RaceOver:
    from assistant.engine.race import run  # few chats ever have one

    return run(race, state.control, state.emit, state.await_step)


HANDLERS: dict[type, Handler] = {Setup: _load, Request: _answer, Race: _race, Count: _count}
