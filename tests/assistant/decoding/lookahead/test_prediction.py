"""What a draft promises, told from measurements without loading anything."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assistant.decoding.lookahead.cost_measurement import Times
from assistant.decoding.lookahead.machine_cache import predict, remember_times
from models.llama.speed_key import of_file

ROOT = Path(__file__).parents[4]


def measured(path: Path, settings: str = "repack=True threads=2 flash=False") -> Any:
    """A file that was measured with these settings, as `models.llama.model` says it."""
    return SimpleNamespace(conditions=f"{of_file(path, None)} {settings}")


@pytest.fixture
def pair(tmp_path):
    files = tmp_path / "target.gguf", tmp_path / "draft.gguf"
    for number, path in enumerate(files):
        path.write_bytes(b"x" * (number + 1))
    return files


def measure(pair, folder, verify: dict[int, float], step: float, **more: str) -> None:
    target, draft = pair
    remember_times(measured(target, **more), "verify", Times(verify), folder)
    remember_times(measured(draft, **more), "draft", Times({1: step, 8: 3 * step}), folder)


def test_the_best_lookahead_and_its_gain_are_those_of_the_costs(pair, tmp_path):
    measure(pair, tmp_path, {1: 1.0, 2: 1.0, 4: 1.0}, 0.1)
    found = predict(*pair, tmp_path)
    assert found is not None
    # 1 + 0.8 + 0.8² + 0.8³ tokens in the time of 1.3.
    assert (found.lookahead, found.speedup) == (3, pytest.approx(2.952 / 1.3))
    # 1 + a = 1.1 tokens: a round of two that takes as long as 1.1 evaluations.
    assert found.pays_from == pytest.approx(0.1, abs=1e-5)


def test_where_nothing_pays_it_says_from_when_on_or_that_nothing_will(pair, tmp_path):
    measure(pair, tmp_path, {1: 1.0, 2: 1.5}, 0.4)
    found = predict(*pair, tmp_path)
    assert (found.lookahead, found.speedup) == (0, 1.0)
    assert found.pays_from == pytest.approx(0.9, abs=1e-5)
    measure(pair, tmp_path, {1: 1.0, 2: 2.0}, 0.4)
    assert predict(*pair, tmp_path).pays_from is None


def test_of_several_measurements_the_newest_counts(pair, tmp_path):
    measure(pair, tmp_path, {1: 1.0, 2: 2.0}, 0.4)
    measure(pair, tmp_path, {1: 1.0, 2: 1.0}, 0.1, settings="repack=False threads=4 flash=True")
    assert predict(*pair, tmp_path).lookahead == 1


def test_without_a_measurement_of_both_files_as_they_are_nothing_is_said(pair, tmp_path):
    target, draft = pair
    assert predict(target, draft, tmp_path) is None
    remember_times(measured(target), "verify", Times({1: 1.0, 2: 1.0}), tmp_path)
    assert predict(target, draft, tmp_path) is None
    remember_times(
        measured(draft), "verify", Times({1: 1.0, 2: 1.0}), tmp_path
    )  # as a target, it was
    assert predict(target, draft, tmp_path) is None
    measure(pair, tmp_path, {1: 1.0, 2: 1.0}, 0.1)
    assert predict(target, draft, tmp_path)
    os.utime(target, ns=(1, 1))  # another file of that size
    assert predict(target, draft, tmp_path) is None
    assert predict(tmp_path / "gone.gguf", draft, tmp_path) is None


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"verify | ": 3}'])
def test_a_damaged_cache_is_as_good_as_none(pair, tmp_path, damage):
    (tmp_path / "costs.json").write_text(damage)
    assert predict(*pair, tmp_path) is None


def test_a_prediction_loads_no_library_of_models():
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from assistant.decoding.lookahead.machine_cache import predict\n"
        "predict(Path('/dev/null'), Path('/dev/null'), Path('/tmp'))\n"
        "assert 'llama_cpp' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
