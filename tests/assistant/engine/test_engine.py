"""`Engine`: jobs in order, their events, and its thread, which no failure ends."""

import errno
import os
from dataclasses import replace
from queue import SimpleQueue
from unittest.mock import Mock

import pytest

from assistant.engine import prompt_cache
from assistant.engine.engine import HANDLERS, Engine
from assistant.engine.profile import profile_of
from assistant.engine.reply import Assistant
from assistant.events import Failed, Finished, Prepared, Ready
from models.errors import NO_MEMORY
from models.files.snapshots import folder
from models.native.model import NativeModel
from tests.assistant.process.event_log import ask
from tests.assistant.process.event_log import in_process as running
from tests.engine import ENGINE
from tests.patience import WAIT_S, until


def test_the_acceptance_of_a_draft_is_saved_before_the_last_event_of_its_answer(setup, tmp_path):
    """Whoever asked may end the process as soon as that is heard."""
    cached = replace(setup, engine=ENGINE, cache=tmp_path)
    saved: list[bool] = []

    def emit(event) -> None:
        saved.append(bool(profile_of(cached.draft, "draft", tmp_path).acceptance))
        received.emit(event)

    with running() as (engine, received):
        engine._handle = emit
        for job in (cached, ask()):
            engine.submit(job)
            received.end()
    assert saved[-1]
    assert not saved[0]
    assert profile_of(cached.draft, "draft", tmp_path).acceptance["model"]


def test_a_target_that_cannot_roll_back_answers_by_ars_and_says_why(setup, monkeypatch):
    monkeypatch.setattr(NativeModel, "_warm_up", lambda model: False)
    with running() as (engine, received):
        engine.submit(setup)
        ready = received.end()
        assert ready.draft is None
        assert not ready.rolls_back
        assert "cannot roll back tokens" in ready.no_draft
        engine.submit(ask())
        assert received.end().stats.drafted == 0


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError(),
        MemoryError("Unable to allocate 6.00 MiB for an array"),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
        ImportError("bit_generator.so: failed to map segment from shared object"),
        FileNotFoundError(errno.ENOENT, "It is gone", "my.gguf"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_bug_and_what_is_none_such_as_no_memory_cost_one_answer(setup, error):
    with running(load=setup) as (engine, received):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Assistant, "reply", Mock(side_effect=error))
            engine.submit(ask())
            failed = received.end()
        if isinstance(error, ZeroDivisionError):
            assert (failed.kind, "bug" in failed.message) == ("Bug", True)
        else:
            gone = "my.gguf cannot be used: It is gone."
            message = gone if isinstance(error, FileNotFoundError) else NO_MEMORY
            assert (failed.kind, failed.message) == ("ModelError", message)
        engine.submit(ask())
        assert isinstance(received.end(), Finished)


def test_an_end_that_cannot_be_sent_is_a_bug_and_not_a_silence():
    sent = SimpleQueue[Failed]()

    def send(number: int, event: object, last: bool) -> None:
        if not isinstance(event, Failed):
            raise TypeError("not a plain value")
        sent.put(event)

    engine = Engine(send, {str: lambda job, state: state})
    engine.submit(1, "a job")
    assert sent.get(timeout=WAIT_S).kind == "Bug"
    engine.close()


def test_the_state_of_a_handler_stays_until_models_are_freed(setup):
    opened = lambda state: Mock()  # noqa: E731
    handlers = {**HANDLERS, str: lambda job, state: state.get_or_create(opened)}
    with running(handlers=handlers) as (engine, received):
        for job in ("a job", "another", setup, "one more"):
            engine.submit(job)
        first, second = received.until(Mock), received.until(Mock)
        received.until(Ready)
        assert first is second
        assert first.close.called
        third = received.until(Mock)
        assert not third.close.called
    assert third.close.called


def snapshots():
    return sorted(folder().glob("*.kv"))


@pytest.fixture
def worth_keeping(monkeypatch):
    """Everything that was read is worth a snapshot, as soon as the engine rests."""
    monkeypatch.setattr(prompt_cache, "LONG_S", 0.0)
    monkeypatch.setattr("assistant.engine.engine.REST_S", 0.05)


def test_the_next_engine_restores_the_cache_of_a_stored_conversation(setup, worth_keeping):
    question = "Why is the sky blue? " * 10
    with running(load=setup) as (engine, received):
        engine.submit(ask(question, stored=True))
        first = received.end()
        until(snapshots)
        assert len(snapshots()) == 1
    with running(load=setup) as (engine, received):
        engine.submit(ask(question, stored=True))
        prepared = received.until(Prepared)
        assert prepared.cached_tokens == prepared.prompt_tokens - 1
        assert received.end().text == first.text
