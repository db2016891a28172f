"""The promises of an engine to its callers, in this process and in its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.events import Decoded, Failed, Finished, Loading, Prepared, Ready, Stop
from assistant.process import wire
from assistant.request import EngineArgs
from tests.assistant.process.event_log import LONG, EventLog, ask, in_process, running
from tests.in_process_engine import BlockingEngine

Both = tuple[BlockingEngine, EventLog]


@pytest.fixture(params=[in_process, running], ids=["in this process", "in its own"])
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    """An engine, and what is heard of it."""
    with request.param() as asking:
        yield asking


def test_loading_reports_progress_and_ends_in_ready(both: Both, setup: EngineArgs) -> None:
    engine, received = both
    engine.submit(setup)
    ready = received.until(Ready)
    assert (ready.target.path, ready.target.n_ctx) == (setup.target, setup.n_ctx)
    assert ready.draft is not None
    assert ready.no_draft is None
    loading = [event for event in received.events if isinstance(event, Loading)]
    assert {event.role for event in loading} == {"target", "draft"}
    assert loading[-1].fraction == 1


def test_a_failed_load_precedes_a_good_one(both: Both, setup: EngineArgs, tmp_path: Path) -> None:
    engine, received = both
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"nonsense")
    engine.submit(EngineArgs(bad))
    failed = received.until(Failed)
    assert received.events[0] == Loading("target", "bad.gguf", 0.0)  # before anything is read
    assert str(bad) in failed.message
    assert failed.kind == "ModelError"
    engine.submit(ask())
    assert "No model is loaded" in received.until(Failed).message
    engine.submit(setup)
    engine.submit(ask())
    assert received.until(Finished).stop is Stop.LENGTH


def test_a_cancel_stops_an_answer_and_not_the_next_one(both: Both, setup: EngineArgs) -> None:
    engine, received = both
    engine.submit(setup)
    for i in range(20):
        engine.submit(ask(max_tokens=LONG))
        received.until(Decoded)
        engine.cancel()
        engine.submit(ask(max_tokens=2 + i % 3))
        assert received.until(Finished).stop is Stop.CANCELLED
        assert received.until(Finished).stats.generated_tokens == 2 + i % 3


def test_a_cancel_stops_a_prompt_that_is_being_read(both: Both, slow: EngineArgs) -> None:
    engine, received = both
    engine.submit(slow)
    received.until(Ready)
    engine.submit(ask("x" * 7000))
    received.until(Prepared)
    engine.cancel()
    finished = received.until(Finished)
    assert (finished.stop, finished.stats.generated_tokens) == (Stop.CANCELLED, 0)
    engine.submit(ask())
    assert received.until(Finished).stop is Stop.LENGTH


def test_a_cancel_stops_a_load_and_jobs_that_wait(both: Both, slow: EngineArgs) -> None:
    engine, received = both
    engine.submit(slow)
    engine.cancel()
    assert received.until(Failed).kind == "Cancelled"
    engine.submit(slow)
    received.until(Ready)
    engine.submit(ask(max_tokens=LONG))
    received.until(Prepared)
    engine.submit(ask(max_tokens=LONG))
    engine.cancel()
    assert received.until(Failed).message == "Stopped before it began."
    assert received.until(Finished).stop is Stop.CANCELLED


def test_steering_takes_effect_in_the_answer_under_way(both: Both, setup: EngineArgs) -> None:
    engine, received = both
    engine.submit(setup)
    engine.submit(ask(max_tokens=LONG))
    received.until(Decoded)
    engine.update("ars")
    while received.until(Decoded).lookahead:
        pass
    engine.update("sps", 2)
    while received.until(Decoded).lookahead != 2:
        pass
    engine.cancel()
    received.until(Finished)


@pytest.mark.parametrize("at", ["rest", "loading", "answering", "reading"])
def test_closing_ends_any_job(both: Both, setup: EngineArgs, slow: EngineArgs, at: str) -> None:
    engine, received = both
    jobs = {"loading": (setup,), "answering": (setup, ask(max_tokens=LONG))}
    for job in jobs.get(at, (slow, ask("x" * 7000), ask()) if at == "reading" else ()):
        engine.submit(job)
    if at == "answering":
        received.until(Decoded)
    engine.close_process()
    received.emit = lambda event: None
    engine.submit(ask())  # to nobody
    engine.cancel()


def test_a_job_too_long_or_with_a_number_too_large_for_a_pipe_fails_alone(
    setup: EngineArgs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(load=setup) as (engine, received):
        engine.submit(ask(max_tokens=200))
        received.until(Decoded)
        engine.update("ars", 2**64)
        received.until(Finished)  # the answer under way is none the worse for it
        monkeypatch.setattr(wire, "MAX_FRAME_BYTES", 2000)
        for job, reason in ((ask("x" * 2000), "too long"), (ask(seed=2**64), "too large")):
            engine.submit(job)
            failed = received.until(Failed)
            assert failed.kind == "UsageError"
            assert reason in failed.message
            engine.submit(ask())
            received.until(Finished)


@pytest.mark.parametrize("name", ["models", "assistant", "msgspec", "json"])
@pytest.mark.some(2)
def test_a_folder_where_the_user_is_does_not_stand_in_for_ours(
    setup: EngineArgs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise SystemExit('not ours')")
    monkeypatch.chdir(tmp_path)
    with running(load=setup):
        pass
