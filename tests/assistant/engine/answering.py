"""Whole answers of tiny models, their events, tokens and texts."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from assistant.decoding.sources.model import ModelSource, VocabularyMapping
from assistant.decoding.sources.suffix import SuffixSource
from assistant.engine.control import Control
from assistant.engine.load import load
from assistant.engine.reply import Assistant
from assistant.events import Decoded, Event, Finished, Ready, Token
from assistant.request import EngineArgs, Message, Request, Sampling


def assistant_of(open_model, target, draft=None, *sources, n_ctx=1024, draft_ctx=1024) -> Any:
    """Return an assistant on model files; its control is `control`."""
    control = Control()
    model = open_model(target, n_ctx=n_ctx, cancel=control.cancel)
    small = draft and open_model(draft, n_ctx=draft_ctx, max_rows=1)
    made: Any = assistant_with(model, small, *sources)
    made.control = control
    return made


def assistant_with(model, small=None, *sources) -> Assistant:
    """Return an assistant with models that are open, and the draft after its other sources."""
    known = [*sources] or [SuffixSource()]
    if small:
        known.append(ModelSource(small, VocabularyMapping.identity(model.n_vocab, small.n_vocab)))
    return Assistant(model, model.weights.vocab, known)


@contextmanager
def loaded(setup: EngineArgs) -> Iterator[tuple[Assistant, Ready]]:
    """Load models as the program does."""
    with ExitStack() as opened:
        yield load(setup, Control(), lambda event: None, opened)


def answer(assistant, request: Request) -> list[Any]:
    """Return the events of a request."""
    control = assistant.control
    control.mode, control.lookahead = request.mode, request.lookahead
    return list(assistant.reply(request, control))


def end(events: list[Event]) -> Finished:
    """Return how the answer ended."""
    return next(event for event in events if isinstance(event, Finished))


def tokens(events: list[Event]) -> list[Token]:
    """Return the tokens of one answer."""
    return [token for event in events if isinstance(event, Decoded) for token in event.tokens]


def ids_of(events: list[Event]) -> list[int]:
    """Return the ids of the tokens of one answer."""
    return [token.id for token in tokens(events)]


def spoken(assistant) -> str:
    """Return what the target has read last, as text."""
    tokens = assistant.target.cached_tokens
    return b"".join(map(assistant.vocab.piece, tokens)).decode("utf-8", "replace")


QUESTION = (Message("system", "Be brief."), Message("user", "Why is the sky blue?"))

HOT = Sampling(temperature=30, top_k=20, top_p=0.95)


def ask(messages=QUESTION, **settings) -> Request:
    decoding = {"mode": "sps", "lookahead": 3, "max_tokens": 40, "seed": 1, "sources": ("model",)}
    return Request(tuple(messages), **{"sampling": HOT, **decoding, **settings})
