"""Which engine runs a file: what the user says, else the faster one, found out once."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from assistant.engine import engine_trial
from assistant.engine.engine_choice import choose, fastest
from assistant.engine.engine_trial import ANSWER, EngineFigures
from assistant.events import Failed, Finished, Lap, Lined, Loading, RaceOver, Ready, Stop
from assistant.request import Lane, Message, Race, Request, Sampling, Setup
from models import engines
from models.cancel import CancelFlag
from models.errors import Cancelled, ModelError
from tests import tiny
from tests.assistant.process.driving import running
from tests.engine import ENGINE, needs_both

FLAT = EngineFigures(0.001, {1: 0.1, 2: 0.1, 4: 0.1})
STEEP = EngineFigures(0.001, {1: 0.1, 2: 0.2, 4: 0.4})


@pytest.fixture
def setup(tiny_target: Path, tmp_path: Path) -> Setup:
    return Setup(tiny_target, n_ctx=512, threads=1, cache=tmp_path)


def chosen(setup: Setup) -> tuple[str, list[str]]:
    """Return the engine for a setup, and which were tried for it."""
    tried: list[str] = []
    return choose(setup, CancelFlag(), tried.append).engine, tried


def test_a_typical_answer_is_a_prompt_half_its_tokens_plain_and_half_in_the_best_rounds():
    assert STEEP.answer_s == pytest.approx(ANSWER * (0.001 + 0.1))
    per_round = 1 + 0.8 + 0.8**2 + 0.8**3
    assert FLAT.answer_s == pytest.approx(ANSWER * (0.001 + 0.1 * (1 + 1 / per_round) / 2))


def test_the_faster_engine_is_taken_and_the_sentence_says_by_how_much():
    choice = fastest({"llama": STEEP, "ik": FLAT}, [])
    assert choice.engine == "ik"
    assert choice.reason == "A typical answer takes llama.cpp 1.49 times as long."
    assert fastest({"llama": FLAT, "ik": STEEP}, []).engine == "llama"


def test_a_file_that_one_engine_cannot_run_goes_to_the_other_with_the_reason():
    choice = fastest({"llama": STEEP}, ["ik_llama.cpp cannot run a.gguf: no."])
    assert (choice.engine, choice.reason) == ("llama", "ik_llama.cpp cannot run a.gguf: no.")
    assert fastest({}, ["One.", "Two."]).reason == "One. Two."


@needs_both
def test_an_engine_that_reads_prompts_wrongly_is_not_taken(smollm2):
    """ik_llama.cpp does, in batches of 32 and more tokens, with Q4_1 weights."""
    assert engine_trial.run("llama", smollm2, 0, 1, CancelFlag()).reading_s > 0
    with pytest.raises(ModelError, match="64 tokens in one batch have other logits"):
        engine_trial.run("ik", smollm2, 0, 1, CancelFlag())


def test_a_machine_too_slow_for_the_whole_trial_is_measured_too(tiny_target, monkeypatch):
    monkeypatch.setattr(engine_trial, "TARGET_LIMIT_S", 0.0)
    figures = engine_trial._measured(ENGINE, tiny_target, 0, 1)
    assert figures.reading_s > 0
    assert 1 in figures.seconds


@needs_both
def test_engines_are_compared_once_for_a_file_until_it_changes(setup, monkeypatch):
    monkeypatch.setattr(engine_trial, "run", lambda *_: FLAT)
    engine, tried = chosen(setup)
    assert tried == ["llama", "ik"]
    assert chosen(setup) == (engine, [])
    setup.target.touch()
    assert chosen(setup)[1] == ["llama", "ik"]


@needs_both
def test_what_is_said_is_done_and_what_cannot_be_compared_is_left_to_llama_cpp(setup, monkeypatch):
    assert chosen(replace(setup, engine="ik")) == ("ik", [])
    assert chosen(replace(setup, gpu_layers=1)) == ("llama", [])
    assert chosen(replace(setup, cache=None)) == ("llama", [])
    monkeypatch.setattr(engines, "installed", lambda: ["ik"])
    assert chosen(setup) == ("ik", [])


@needs_both
@pytest.mark.parametrize("kind", ["mamba", "lfm2"])
def test_recurrent_models_are_left_to_llama_cpp(tmp_path, setup, kind):
    """The fork does not know lfm2; and of a state that cannot be taken back it knows too little."""
    path = tiny.write(tmp_path / "m.gguf", kind)
    choice = choose(replace(setup, target=path), CancelFlag(), lambda name: None)
    assert choice.engine == "llama"
    assert "ik_llama.cpp cannot run m.gguf" in choice.reason


@needs_both
def test_an_engine_that_dies_of_a_file_ends_only_its_trial(tmp_path, setup):
    path = tmp_path / "no.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"ik_llama.cpp cannot run no.gguf: .*no\.gguf"):
        engine_trial.run("ik", path, None, 1, CancelFlag())


def test_a_trial_is_stopped_immediately(setup):
    flag = CancelFlag()
    flag.raise_()
    with pytest.raises(Cancelled):
        engine_trial.run("llama", setup.target, None, 1, flag)


@needs_both
def test_a_process_that_has_loaded_the_other_engine_gives_way_to_a_new_one(setup):
    question = Request((Message("user", "Why?"),), Sampling(0), seed=1, max_tokens=8)
    texts = []
    with running() as (engine, heard):
        for name in ("llama", "ik", "ik", "llama"):
            engine.submit(replace(setup, engine=name))
            assert heard.until(Ready).engine == name
            engine.submit(question)
            end = heard.until(Finished)
            assert end.stats.engine == name
            texts.append((engine.pid, end.token_ids))
    assert [a == b for (a, _), (b, _) in pairwise(texts)] == [False, True, False]
    assert len({tokens for _, tokens in texts}) == 1


@needs_both
def test_lanes_of_a_race_may_have_different_engines_and_take_turns(setup, tiny_draft):
    setup = replace(setup, draft=tiny_draft)
    lanes = (
        Lane("a", replace(setup, engine="llama"), "ars"),
        Lane("b", replace(setup, engine="ik"), "ars"),
        Lane("c", replace(setup, engine="ik"), "sps", 3),
    )
    request = Request((Message("user", "Why?"),), Sampling(0), seed=1, max_tokens=60)
    with running() as (engine, heard):
        engine.submit(Race(lanes, request))
        heard.until(RaceOver)
    assert [ready.engine for ready in heard.of(Lined)[0].lanes] == ["llama", "ik", "ik"]
    ends = [heard.of(Finished, lane)[0] for lane in range(3)]
    assert [end.stats.engine for end in ends] == ["llama", "ik", "ik"]
    assert ends[2].stats.accepted > 0
    assert len({end.token_ids for end in ends}) == 1
    clocks, longest = dict.fromkeys(range(3), 0.0), 0.0
    for lap in heard.of(Lap):
        if isinstance(lap.event, Finished):
            break
        longest = max(longest, lap.clock - clocks[lap.lane])
        clocks[lap.lane] = lap.clock
        assert max(clocks.values()) - min(clocks.values()) <= longest


@needs_both
def test_a_cancel_stops_the_lanes_of_all_engines(setup):
    setup = replace(setup, n_ctx=1024)
    lanes = tuple(Lane(name, replace(setup, engine=name), "ars") for name in ("llama", "ik"))
    request = Request((Message("user", "Why?"),), Sampling(30), seed=1, max_tokens=900)
    with running() as (engine, heard):
        engine.submit(Race(lanes, request))
        heard.until(Lined)
        engine.cancel()
        heard.until(RaceOver)
    ends = [heard.of(Finished, lane)[0] for lane in range(2)]
    assert [end.stop for end in ends] == [Stop.CANCELLED] * 2
    assert all(end.stats.generated_tokens < 900 for end in ends)


@needs_both
def test_a_lane_whose_process_is_killed_ends_alone(setup):
    setup = replace(setup, n_ctx=1024)
    lanes = tuple(Lane(name, replace(setup, engine=name), "ars") for name in ("llama", "ik"))
    request = Request((Message("user", "Why?"),), Sampling(30), seed=1, max_tokens=900)
    with running() as (engine, heard):
        engine.submit(Race(lanes, request))
        heard.until(Lined)
        (lane,) = psutil.Process(engine.pid).children()
        lane.kill()
        heard.until(RaceOver)
    (ended,) = heard.of(Failed, 1)
    assert ended.kind == "EngineDied"
    assert heard.of(Finished, 0)[0].stats.generated_tokens == 900


@needs_both
def test_an_engine_that_is_to_be_compared_is_named_meanwhile(setup):
    with running() as (engine, heard):
        engine.submit(setup)
        ready = heard.until(Ready)
    names = [event.name for event in heard.of(Loading)]
    assert f"{setup.target.name} with ik_llama.cpp to compare engines" in names
    assert "times as long" in ready.why_engine
