"""How the engine does its jobs, each by its class."""

from assistant.chat import context
from assistant.engine.load import Loader
from assistant.engine.race import run
from assistant.engine.reply import Assistant
from assistant.engine.workplace import Handler, Workplace
from assistant.events import Answered, Counted, Finished, RaceOver, Ready
from assistant.request import Count, Race, Request, Setup
from models.errors import ModelError


def _load(setup: Setup, place: Workplace) -> Ready:
    place.free()
    place.loader = Loader(setup, place.control, place.emit, place.pool)
    place.assistant, ready = place.loader.load()
    return ready


def _answer(request: Request, place: Workplace) -> Finished | Answered:
    assistant = _loaded(place)
    answer = assistant.reply if request.answers == 1 else assistant.replies
    for event in answer(request, place.control):
        if isinstance(event, Finished | Answered):
            if place.loader:
                place.loader.keep_learnt()  # before the last word: this process may end with it
            return event
        place.emit(event)
    raise AssertionError("an answer ends in one of them")


def _race(race: Race, place: Workplace) -> RaceOver:
    """Load the lanes' own models and free them afterwards; the loaded pair stays and is shared."""
    run(race, place.pool, place.control, place.emit)
    return RaceOver()


def _count(count: Count, place: Workplace) -> Counted:
    assistant = _loaded(place)
    n_ctx = assistant.target.n_ctx
    return Counted(count.label, context.count(count.text, assistant.vocab.tokenize, n_ctx))


def _loaded(place: Workplace) -> Assistant:
    if place.assistant is None:
        raise ModelError("No model is loaded, so there is nothing to answer with.")
    return place.assistant


HANDLERS: dict[type, Handler] = {Setup: _load, Request: _answer, Race: _race, Count: _count}
