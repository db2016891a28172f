"""Recorded answers of a real engine, for widgets that show how text was decoded."""

from pathlib import Path
from typing import Any

import pytest

from assistant.events import Decoded, Event, Finished, Ready, Step, Trace
from assistant.request import EngineArgs, Message, Mode, Request
from tests.assistant.process.event_log import in_process
from tests.tui.chat.chat_driver import HOT


def record(target: Path, draft: Path | None, mode: Mode = "sps", tokens: int = 60) -> list[Event]:
    """Return everything the engine says while it loads the models and answers once."""
    setup = EngineArgs(target, draft, n_ctx=512, threads=1, measure=False)
    with in_process(setup) as (engine, received):
        message = Message("user", "Go on")
        engine.submit(Request((message,), HOT, mode, 3, tokens, seed=1, alternatives=5))
        received.until(Finished)
    return received.events


def rounds(events: list[Event]) -> list[Decoded]:
    """Return the rounds among the events."""
    return [event for event in events if isinstance(event, Decoded)]


def trace(events: list[Event]) -> Trace:
    """Return the answer as it is kept."""
    return tuple(Step(round_.tokens, round_.rejected) for round_ in rounds(events) if round_.tokens)


def ready(events: list[Event]) -> Ready:
    """Return what was said of the models."""
    return next(event for event in events if isinstance(event, Ready))


def watched(thing: object, method: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that fills with the first argument of every call to a method."""
    called: list[Any] = []
    original = getattr(thing, method)

    def watching(argument: Any) -> Any:
        called.append(argument)
        return original(argument)

    monkeypatch.setattr(thing, method, watching)
    return called
