"""`engine_trial`: how fast each engine runs a file, and which one is chosen for it."""

from pathlib import Path

import pytest
from gguf import GGMLQuantizationType

from assistant.engine.engine_choice import ANSWER, EngineFigures, choose_engine
from assistant.lab import engine_trial
from assistant.lab.engine_trial import compare, fastest
from assistant.lab.protocol import Measuring
from assistant.request import EngineArgs
from models.errors import Cancelled, ModelError
from models.progress import CancelFlag
from tests import tiny
from tests.engine import ENGINE, needs_both

FLAT = EngineFigures(0.001, {1: 0.1, 2: 0.1, 4: 0.1})
STEEP = EngineFigures(0.001, {1: 0.1, 2: 0.2, 4: 0.4})


@pytest.fixture
def setup(tiny_target: Path, tmp_path: Path) -> EngineArgs:
    return EngineArgs(tiny_target, n_ctx=512, threads=1, cache=tmp_path)


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
def test_an_engine_that_reads_a_file_in_small_batches_is_measured_so(tmp_path):
    """ik_llama.cpp does: its kernels for 32 and more tokens of Q4_1 weights are wrong."""
    path = tiny.write(tmp_path / "m.gguf", weights=GGMLQuantizationType.Q4_1)
    setup = EngineArgs(path, threads=1)
    slow, fast = (engine_trial.run(name, setup, CancelFlag()) for name in ("ik", "llama"))
    assert max(slow.seconds) == 31
    assert max(fast.seconds) == 32


def test_a_machine_too_slow_for_the_whole_trial_is_measured_too(tiny_target, monkeypatch):
    monkeypatch.setattr(engine_trial, "MEASURING_S", 0.0)
    figures = engine_trial._measure(ENGINE, tiny_target, 0, 1)
    assert figures.reading_s > 0
    assert 1 in figures.seconds


@needs_both
def test_the_measured_engine_is_chosen_until_the_file_changes(setup, tmp_path, monkeypatch):
    monkeypatch.setattr(engine_trial, "run", lambda name, *_: FLAT if name == "llama" else STEEP)
    tried = list[Measuring]()
    assert compare(setup, tmp_path, CancelFlag(), tried.append).engine == "llama"
    assert [progress.what.split()[-1] for progress in tried] == ["llama.cpp", "ik_llama.cpp"]
    assert choose_engine(setup).engine == "llama"
    assert "1.49 times" in choose_engine(setup).reason
    setup.target.touch()
    assert choose_engine(setup).engine == "ik"


@needs_both
def test_an_engine_that_dies_of_a_file_ends_only_its_trial(tmp_path, setup):
    path = tmp_path / "no.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"ik_llama.cpp cannot run no.gguf: .*no\.gguf"):
        engine_trial.run("ik", EngineArgs(path), CancelFlag())


def test_a_trial_is_stopped_immediately(setup):
    flag = CancelFlag()
    flag.raise_()
    with pytest.raises(Cancelled):
        engine_trial.run("llama", setup, flag)
