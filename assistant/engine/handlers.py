"""One handler for each class of job."""

from assistant.chat import context
from assistant.engine.engine_state import EngineState, Handler
from assistant.engine.load import Loader
from assistant.engine.race import run
from assistant.engine.reply import Assistant
from assistant.events import Answered, Counted, Finished, Ready
from assistant.request import Count, Race, Request, Setup
from models.errors import ModelError


def _load(setup: Setup, state: EngineState) -> Ready:
    state.free()
    state.loader = Loader(setup, state.control, state.emit)
    state.assistant, ready = state.loader.load()
    return ready


def _answer(request: Request, state: EngineState) -> Finished | Answered:
    assistant = _loaded(state)
    answer = assistant.reply if request.answers == 1 else assistant.replies
    for event in answer(request, state.control):
        if isinstance(event, Finished | Answered):
            if state.loader:
                state.loader.keep_learnt()  # before the last word: this process may end with it
            return event
        state.emit(event)
    raise AssertionError("an answer ends in one of them")


def _count(count: Count, state: EngineState) -> Counted:
    assistant = _loaded(state)
    n_ctx = assistant.target.n_ctx
    return Counted(count.label, context.count(count.text, assistant.vocab.tokenize, n_ctx))


def _loaded(state: EngineState) -> Assistant:
    if state.assistant is None:
        raise ModelError("No model is loaded, so there is nothing to answer with.")
    return state.assistant


HANDLERS: dict[type, Handler] = {Setup: _load, Request: _answer, Race: run, Count: _count}
