"""Two engines: each loads alone, and an error of one names the command that installs the other."""

import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import Mock

import pytest

from assistant.lab import engine_trial
from assistant.request import EngineArgs
from models import engines
from models.errors import ModelError, OtherEngine
from models.native import loaded, weights
from models.progress import CancelFlag
from models.slim.slim_draft import quantize
from tests import ROOT, tiny
from tests.engine import ENGINE, needs_both
from tests.patience import WAIT_S
from tests.scripts import printed

COMMAND = r"llama.cpp is not installed\. Install it with: make -C \S+ llama"


@pytest.fixture
def ik_alone(monkeypatch):
    monkeypatch.setattr(engines, "installed", lambda: ["ik"])


def test_an_engine_that_is_not_there_is_told_with_its_command(ik_alone, monkeypatch):
    monkeypatch.setattr(loaded, "_loaded", None)
    monkeypatch.setattr(loaded, "installed", lambda: ["ik"])
    monkeypatch.setattr(loaded, "import_module", Mock(side_effect=ModuleNotFoundError))
    with pytest.raises(ModelError, match=COMMAND):
        loaded.use("llama")
    with pytest.raises(ModelError, match=r"Reinstall it with: .*==\S+ --force-reinstall"):
        loaded.use("ik")


def test_a_file_that_is_refused_is_one_for_the_other(ik_alone, tmp_path, monkeypatch):
    path = tiny.write(tmp_path / "m.gguf")
    refusing = replace(loaded.engine(), unsupported_reason=lambda header: "it is too new")
    monkeypatch.setattr(loaded, "_loaded", (ENGINE, refusing))
    with pytest.raises(ModelError, match=r"cannot run .*m\.gguf: it is too new\. " + COMMAND):
        weights.Weights(path)
    monkeypatch.undo()
    path.write_bytes(path.read_bytes().replace(b"output_norm.weight", b"output_norn.weight"))
    with pytest.raises(ModelError, match=r"cannot load .*m\.gguf: .*\.$"):
        weights.Weights(path)


@needs_both
def test_both_requantise_alike(tmp_path, monkeypatch, open_model):
    """Each rounds on its own at ties; the numbers that come of it are as good as the same."""
    source, places = tiny.write(tmp_path / "source.gguf"), []
    for name in ("llama", "ik"):
        with monkeypatch.context() as patched:
            patched.setattr(engines, "installed", lambda name=name: [name])
            places.append(tmp_path / f"{name}.gguf")
            quantize(source, places[-1])
    tokens = [*b"def f(x):"]
    first, second, whole = (open_model(path).logits(tokens)[0] for path in (*places, source))
    assert abs(first - second).max() <= 0.1 * abs(first - whole).max()


@needs_both
def test_a_file_that_the_fork_cannot_requantise_is_named_with_its_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "installed", lambda: ["ik"])
    (tmp_path / "no.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"ik_llama.cpp cannot requantise .*no\.gguf: ."):
        quantize(tmp_path / "no.gguf", tmp_path / "out.gguf")
    assert loaded.in_use() == ENGINE


@pytest.mark.parametrize("has_pip", [True, False])
def test_engines_are_installed_by_pip_or_uv(monkeypatch: pytest.MonkeyPatch, has_pip: bool) -> None:
    spec = find_spec("pip") if has_pip else None
    monkeypatch.setattr(engines, "find_spec", lambda name: spec)
    monkeypatch.setattr(engines, "_MAKEFILE", Path("/no"))
    package = engines.PACKAGES["llama"]
    for command in (engines.how_to_install("llama"), package.mismatch, package.reinstall):
        assert ("uv pip install " in command) != has_pip
        assert sys.executable in command


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
        engine_trial.run("ik", EngineArgs(path, threads=1), CancelFlag())


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
