"""The tests of models, run with the other engine in another process."""

import os
import subprocess
import sys

import pytest

from assistant.lab import engine_trial
from models.errors import ModelError, OtherEngine
from models.native import loaded
from models.progress import CancelFlag
from tests import ROOT, tiny
from tests.engine import ENGINE, needs_both
from tests.patience import WAIT_S
from tests.scripts import printed

DAY = (
    "tests/models/test_llama_cache.py",
    "tests/models/test_llama_guards.py",
    "tests/models/test_llama_state.py",
    "tests/models/test_conditions.py",
    "tests/models/test_wide_batches.py",
    "tests/models/test_repacked.py",
    "tests/assistant/engine/test_real_models.py",
    "tests/assistant/engine/test_edges.py",
)
THOROUGH = (
    "tests/models/test_llama_vocab.py",
    "tests/models/test_hostile_gguf.py",
    "tests/assistant/lab/prove/test_proof.py",
    "tests/assistant/engine/test_assistant.py",
    "tests/assistant/engine/test_prompt_cache.py",
)


@needs_both
@pytest.mark.parametrize(
    "suites", [DAY, *(pytest.param([suite], marks=pytest.mark.thorough) for suite in THOROUGH)]
)
def test_the_laws_of_models_hold_with_the_other_engine(suites):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *suites],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=10 * WAIT_S,
        check=False,
        env={**os.environ, "SPECCHAT_TEST_ENGINE": "ik"},
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert " passed" in done.stdout


@needs_both
@pytest.mark.parametrize("how", [{"kind": "mamba"}, {"kind": "lfm2"}, {"longrope": 512}])
def test_a_model_that_ik_cannot_run_or_roll_back_is_refused_with_the_reason(tmp_path, how):
    path = tiny.write(tmp_path / "tiny.gguf", **how)
    with pytest.raises(ModelError, match=r"^ik_llama.cpp cannot run \w+\.gguf: it does not "):
        engine_trial.run("ik", path, None, 1, CancelFlag())


@needs_both
def test_another_version_of_it_is_refused_before_its_structures_are_read():
    script = """
import models.ik.library as library
library.version = lambda name: "9"
library.c.llama_context_default_params = None
from models.errors import ModelError
try:
    library.engine()
except ModelError as error:
    print(error)
"""
    assert "pip install ik-llama-cpp-python==0.1.5" in printed(script)


def test_a_process_that_has_loaded_an_engine_loads_no_other():
    assert loaded.in_use() == ENGINE
    with pytest.raises(OtherEngine):
        loaded.use("ik" if ENGINE == "llama" else "llama")
    assert loaded.in_use() == ENGINE
