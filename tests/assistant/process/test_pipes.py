"""An engine that is reached by pipes does what an engine in this process does."""

from pathlib import Path

import pytest

from assistant.events import Decoded, Failed, Finished
from assistant.process import wire
from assistant.request import EngineArgs
from tests.assistant.process.event_log import ask, in_process, running


def test_the_answer_is_that_of_an_engine_in_this_process(setup: EngineArgs) -> None:
    answers = []
    for where in (in_process, running):
        with where(load=setup) as (engine, received):
            engine.submit(ask(alternatives=2))
            finished = received.until(Finished)
        rounds = [event.tokens for event in received.of(Decoded)]
        answers.append((finished.text, finished.token_ids, finished.stop, rounds))
    assert answers[0] == answers[1]


def test_a_job_too_long_for_a_pipe_fails(
    setup: EngineArgs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(load=setup) as (engine, received):
        monkeypatch.setattr(wire, "MAX_FRAME_BYTES", 2000)
        engine.submit(ask("x" * 2000))
        failed = received.until(Failed)
        assert failed.kind == "UsageError"
        assert "too long" in failed.message
        engine.submit(ask())
        received.until(Finished)


def test_a_number_too_large_for_a_pipe_fails(setup: EngineArgs) -> None:
    with running(load=setup) as (engine, received):
        engine.submit(ask(max_tokens=200))
        received.until(Decoded)
        engine.update("ars", 2**64)
        received.until(Finished)  # the answer under way is none the worse for it
        engine.submit(ask(seed=2**64))
        failed = received.until(Failed)
        assert failed.kind == "UsageError"
        assert "too large" in failed.message
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
