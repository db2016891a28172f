"""Through the pipes the engine does what it does in this process."""

import subprocess
import sys
from pathlib import Path

import pytest

from assistant.events import (
    Answered,
    Counted,
    Decoded,
    Failed,
    Finished,
    Lap,
    Lined,
    OneOf,
    RaceOver,
    Ready,
)
from assistant.process import wire
from assistant.process.client import EngineProcess
from assistant.request import Count, Lane, Race, Setup
from tests.asking import Asking, NearEngine
from tests.assistant.process.driving import Heard, ask, running

ROOT = Path(__file__).parents[3]


def test_the_answer_is_that_of_an_engine_in_this_process(setup: Setup) -> None:
    near = Heard()
    engine = Asking(NearEngine(), near.emit)
    engine.submit(setup)
    engine.submit(ask(alternatives=2))
    near.until(Ready)
    here = near.until(Finished)
    engine.close()
    with running() as (far_engine, far):
        far_engine.submit(setup)
        far_engine.submit(ask(alternatives=2))
        far.until(Ready)
        there = far.until(Finished)
    assert (there.text, there.token_ids, there.stop) == (here.text, here.token_ids, here.stop)
    rounds = [[e.tokens for e in h.events if isinstance(e, Decoded)] for h in (near, far)]
    assert rounds[0] == rounds[1]


def test_counting_and_racing_cross_the_pipes_too(setup: Setup) -> None:
    with running() as (engine, heard):
        engine.submit(Count("nothing to count with", "four"))
        assert heard.until(Failed).message == "No model is loaded."
        engine.submit(setup)
        engine.submit(Count("label", "four"))
        heard.until(Ready)
        assert heard.until(Counted) == Counted("label", 4)
        lanes = (Lane("ArS", setup, "ars"), Lane("SpS", setup, "sps", 2))
        engine.submit(Race(lanes, ask()))
        assert len(heard.until(Lined).lanes) == 2
        heard.until(RaceOver)
        ends = [e for e in heard.events if isinstance(e, Lap) and isinstance(e.event, Finished)]
        assert {lap.lane for lap in ends} == {0, 1}
        engine.submit(ask())
        heard.until(Finished)


def test_several_answers_cross_the_pipe_and_the_next_request_waits_for_their_end(
    setup: Setup,
) -> None:
    with running() as (engine, heard):
        engine.submit(setup)
        engine.submit(ask(answers=3, max_tokens=20, seed=1))
        engine.submit(ask(max_tokens=20, seed=3))
        alone = heard.until(Finished)
    (answered,) = (event for event in heard.events if isinstance(event, Answered))
    over = heard.events.index(answered)
    told = [event for event in heard.events if isinstance(event, OneOf)]
    ends = {event.answer: event.event for event in told if isinstance(event.event, Finished)}
    assert sorted(ends) == [0, 1, 2]
    assert not any(isinstance(event, OneOf) for event in heard.events[over:])
    assert answered.tokens == 60
    assert ends[2].text == alone.text  # the seed and its number make the answer
    assert ends[2].stats.beside == 2


def test_what_is_too_long_for_the_pipe_fails_and_the_next_is_answered(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(load=setup) as (engine, heard):
        monkeypatch.setattr(wire, "MOST", 2000)
        engine.submit(ask("x" * 2000))
        failed = heard.until(Failed)
        assert failed.kind == "UsageError"
        assert "too long" in failed.message
        engine.submit(ask())
        heard.until(Finished)


def test_a_number_too_large_for_the_pipe_fails_and_the_next_is_answered(setup: Setup) -> None:
    huge = 2**64
    with running(load=setup) as (engine, heard):
        engine.submit(ask(max_tokens=900))
        heard.until(Decoded)
        engine.steer("ars", huge)
        heard.until(Finished)  # the answer under way is none the worse for it
        engine.submit(ask(seed=huge))
        failed = heard.until(Failed)
        assert failed.kind == "UsageError"
        assert "too large" in failed.message
        engine.submit(ask())
        heard.until(Finished)


def test_a_megabyte_is_handed_over_without_waiting_for_the_worker(setup: Setup) -> None:
    with running(load=setup) as (engine, heard):
        for _ in range(3):
            engine.submit(ask("x" * 2**20))
        assert [heard.until(Failed).kind for _ in range(3)] == ["ContextFull"] * 3


def test_closing_ends_the_process_whatever_it_is_at(setup: Setup, slow: Setup) -> None:
    for jobs in ((), (setup,), (setup, ask(max_tokens=900)), (slow, ask("x" * 7000), ask())):
        heard = Heard()
        engine = Asking(EngineProcess(), heard.emit)
        for job in jobs:
            engine.submit(job)
        if len(jobs) == 2:
            heard.until(Decoded)
        engine.close()
        assert engine.pid is None
        engine.submit(ask())  # to nobody
        engine.cancel()
        engine.close()


def test_the_client_brings_no_llama_cpp_and_no_numpy_along() -> None:
    code = (
        "import sys, assistant.process.client\n"
        "heavy = {'llama_cpp', 'numpy', 'jinja2'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize("name", ["models", "assistant", "msgspec", "json"])
@pytest.mark.some(2)
def test_a_folder_where_the_user_is_does_not_stand_in_for_ours(
    setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise SystemExit('not ours')")
    monkeypatch.chdir(tmp_path)
    with running(load=setup):
        pass
