"""`engine_choice`: by the user's setting, else by what was measured, else by the header."""

import os
import signal
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from gguf import GGMLQuantizationType

from assistant.engine.engine_choice import choose_engine
from assistant.events import Decoded, Failed, Finished, LaneEvent, RaceOver, RaceReady, Ready, Stop
from assistant.request import EngineArgs, Lane, Message, Race, Request, Sampling
from models import engines
from tests import tiny
from tests.assistant.process.event_log import running
from tests.engine import needs_both


@pytest.fixture
def setup(tiny_target: Path, tmp_path: Path) -> EngineArgs:
    return EngineArgs(tiny_target, n_ctx=512, threads=1, cache=tmp_path)


@needs_both
def test_ik_llama_cpp_runs_what_it_can_and_llama_cpp_what_it_cannot(setup, tmp_path):
    assert choose_engine(setup).engine == "ik"
    made = {
        "recurrent": tiny.write(tmp_path / "recurrent.gguf", "mamba"),
        "hybrid": tiny.write(tmp_path / "recurrent.gguf", "lfm2"),
        "longrope": tiny.write(tmp_path / "longrope.gguf", longrope=512),
        "at most 31 tokens": tiny.write(tmp_path / "q.gguf", weights=GGMLQuantizationType.Q5_1),
    }
    for reason, path in made.items():
        choice = choose_engine(replace(setup, target=path))
        assert choice.engine == "llama"
        assert reason in choice.reason


@needs_both
def test_the_engine_that_is_named_or_that_alone_can_run_a_file_is_chosen(setup, monkeypatch):
    assert choose_engine(replace(setup, engine="llama")).engine == "llama"
    assert choose_engine(replace(setup, gpu_layers=1)).engine == "llama"
    monkeypatch.setattr(engines, "llama_uses_gpu", lambda: True)
    assert choose_engine(setup).engine == "llama"
    assert choose_engine(replace(setup, gpu_layers=0)).engine == "ik"
    monkeypatch.setattr(engines, "installed", lambda: ["ik"])
    assert choose_engine(setup).engine == "ik"
    assert choose_engine(replace(setup, gpu_layers=1)).engine == "llama"


@pytest.mark.parametrize("backend", ["cuda", "metal", "vulkan", "hip", "sycl"])
def test_a_llama_cpp_that_was_built_for_a_gpu_is_known_by_its_files(tmp_path, monkeypatch, backend):
    package = tmp_path / "llama_cpp"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").touch()
    for part in ("base", "cpu", "cpu-haswell", "blas", "rpc"):
        (package / "lib" / f"libggml-{part}.so").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "llama_cpp", raising=False)
    assert not engines.llama_uses_gpu()
    (package / "lib" / f"libggml-{backend}.dylib").touch()
    assert engines.llama_uses_gpu()


@needs_both
def test_a_file_that_is_too_new_for_one_engine_is_run_by_the_other(setup, tmp_path):
    """Nothing in its header says so to us: the engine refuses it, and the process is replaced."""
    target = tiny.write(tmp_path / "new.gguf", pre="whitespace")
    with running() as (engine, received):
        engine.submit(replace(setup, target=target))
        assert received.until(Ready).engine == "llama"
        assert "unknown pre-tokenizer" in choose_engine(replace(setup, target=target)).reason
        engine.submit(replace(setup, target=target, engine="ik"))
        assert "unknown pre-tokenizer" in received.until(Failed).message


@needs_both
def test_a_process_that_has_loaded_the_other_engine_gives_way_to_a_new_one(setup):
    question = Request((Message("user", "Why?"),), Sampling(0), seed=1, max_tokens=8)
    texts = []
    with running() as (engine, received):
        for name in ("llama", "ik", "ik", "llama"):
            engine.submit(replace(setup, engine=name))
            assert received.until(Ready).engine == name
            engine.submit(question)
            end = received.until(Finished)
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
    with running() as (engine, received):
        engine.submit(Race(lanes, request))
        received.until(RaceOver)
    loaded = [lane for lane in received.of(RaceReady)[0].lanes if isinstance(lane, Ready)]
    assert [ready.engine for ready in loaded] == ["llama", "ik", "ik"]
    ends = [received.of(Finished, lane)[0] for lane in range(3)]
    assert [end.stats.engine for end in ends] == ["llama", "ik", "ik"]
    assert ends[2].stats.accepted > 0
    assert len({end.token_ids for end in ends}) == 1
    received.assert_in_turns(lanes=3)


def long_race(setup: EngineArgs) -> Race:
    """A race of both engines, neither of which is over soon."""
    setup = replace(setup, n_ctx=1024)
    lanes = tuple(Lane(name, replace(setup, engine=name), "ars") for name in ("llama", "ik"))
    return Race(lanes, Request((Message("user", "Why?"),), Sampling(30), seed=1, max_tokens=900))


@needs_both
def test_a_cancel_stops_the_lanes_of_all_engines(setup):
    with running() as (engine, received):
        engine.submit(long_race(setup))
        while not all(received.of(Decoded, lane) for lane in range(2)):
            received.until(LaneEvent)
        engine.cancel()
        received.until(RaceOver)
    ends = [received.of(Finished, lane)[0] for lane in range(2)]
    assert [end.stop for end in ends] == [Stop.CANCELLED] * 2
    assert all(end.stats.generated_tokens < 900 for end in ends)


@needs_both
def test_a_lane_whose_process_is_killed_ends_alone(setup):
    with running() as (engine, received):
        engine.submit(long_race(setup))
        received.until(RaceReady)
        os.kill(engine.process._others["ik"].pid or 0, signal.SIGKILL)
        received.until(RaceOver)
    (ended,) = received.of(Failed, 1)
    assert ended.kind == "EngineDied"
    assert received.of(Finished, 0)[0].stats.generated_tokens == 900
