"""`native_build`: a compiled engine is used only where it was faster and right."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from assistant.engine.engine_choice import _key
from assistant.request import EngineArgs
from models import child_process, ik
from models.engines import PACKAGES
from models.ik import native_build
from models.ik.native_build import CYCLES, ENDS, TURNS, compare
from tests.engine import needs_both
from tests.scripts import printed

ROWS = np.sin(np.arange(CYCLES * len(ENDS) * 50))
LOADS = """
import sys
from pathlib import Path
from models import ik
ik.COMPILED, ik.USED = map(Path, sys.argv[1:3])
from models.native import loaded
chosen, library = ik.compiled_library(), loaded.use("ik")
assert ik.compiled_library() == chosen
conditions = library.speed_key(Path(sys.argv[3]), None)
print(library.c.library_path, library.version, conditions, sep="\\n")
"""
pytestmark = [needs_both, pytest.mark.skipif(sys.platform != "linux", reason="not used there")]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `make native` has put a library, and chosen it: another name of the wheel's."""
    packages = PACKAGES["ik"].folder.parent  # the library looks among them for what it needs
    (tmp_path / "native").symlink_to(packages)
    monkeypatch.delenv(ik.VARIABLE)
    (tmp_path / "used").write_text(" ".join(ik.conditions()))
    for module in (ik, native_build):
        monkeypatch.setattr(module, "COMPILED", tmp_path / "native/ik_llama_cpp/lib/libllama.so")
        monkeypatch.setattr(module, "USED", tmp_path / "used")
    return tmp_path


def loads(model: Path) -> list[str]:
    """Return the library that a process loads, its version, and what its speed is kept under."""
    return printed(LOADS, ik.COMPILED, ik.USED, model).splitlines()


def test_it_is_loaded_if_chosen_and_nothing_measured_of_the_wheel_is_believed(place, tiny_target):
    compiled = loads(tiny_target)
    assert compiled[:2] == [str(ik.COMPILED), "0.1.5, compiled for this processor"]
    for lost in ("native", "used"):  # one that cannot be loaded leaves its place to the wheel's
        (place / lost).unlink()
        wheel = loads(tiny_target)
        assert wheel[0].startswith(str(PACKAGES["ik"].folder))
        assert wheel[2] != compiled[2]


def test_another_version_or_a_processor_without_a_feature_does_without_it(place, monkeypatch):
    features = ik.conditions()
    (place / "used").write_text(" ".join(features - {"fpu"}))
    assert ik.compiled_library() == ik.COMPILED
    (place / "used").write_text(" ".join(features | {"avx1024"}))
    assert ik.compiled_library() is None
    (place / "used").write_text(" ".join(features))
    monkeypatch.setitem(PACKAGES, "ik", PACKAGES["ik"]._replace(version="9"))
    assert ik.compiled_library() is None


def compared(
    monkeypatch, *seconds: float, rows=ROWS, complaint: str | None = None, busy=(), factor=1.0
) -> str:
    """Compare with a library that takes this long where the wheel's takes 1 each.

    In `busy` turns another program slows it alone, by a `factor`.
    """
    turns = list[str]()

    def run(module: str, target: Path) -> tuple[bytes, str | None]:
        assert module == native_build.__name__
        turns.append(os.environ[ik.VARIABLE])
        if turns[-1] != str(ik.COMPILED):
            return np.array([1, 1, 1, *ROWS], np.float32).tobytes(), None
        slower = factor if len(turns) // 2 - 1 in busy else 1.0
        took = slower * np.array(seconds)
        return np.array([*took, *rows], np.float32).tobytes(), complaint

    with monkeypatch.context() as patched:
        patched.setattr(child_process, "run", run)
        patched.setenv(ik.VARIABLE, "")
        result = compare(Path("model.gguf"))
    assert complaint is not None or turns == turns[:2] * TURNS
    return result


def test_the_faster_of_both_is_used_from_now_on(place, monkeypatch, tiny_target):
    key = _key(EngineArgs(tiny_target))
    assert "the wheel stays" in compared(monkeypatch, 0.8, 1.3, 1.0)
    assert ik.compiled_library() is None
    assert _key(EngineArgs(tiny_target)) != key  # engines are compared again
    figures = "1.25 times as fast in prompts, 1.11 for one token, 1.00 for four"
    assert compared(monkeypatch, 0.8, 1.0, 0.9) == f"it is used from now on: {figures}"
    assert ik.compiled_library() == ik.COMPILED
    monkeypatch.setenv(ik.VARIABLE, "/elsewhere")
    assert ik.compiled_library() is None  # who names a library is obeyed


@pytest.mark.parametrize(
    ("busy", "begin", "end"),
    [
        ((1, 5), "it is used", "1.11 for four"),
        ((0, 3, 6), "it is used", "only 6 of 9 turns say so, run it again when nothing else runs"),
        (range(5), "the wheel stays", "5 of 9 turns say so, run it again when nothing else runs"),
        (range(8), "the wheel stays", "0.37 for four"),
    ],
)
def test_turns_beside_another_program_decide_if_they_are_most(place, monkeypatch, busy, begin, end):
    result = compared(monkeypatch, 0.9, 0.9, 0.9, busy=busy, factor=3.0)
    assert result.startswith(begin)
    assert result.endswith(end)


def test_one_that_is_wrong_or_ends_is_not_used_however_fast(place, monkeypatch):
    assert "other logits" in compared(monkeypatch, 0.5, 0.5, 0.5, rows=-ROWS)
    assert "other logits" in compared(monkeypatch, 0.5, 0.5, 0.5, rows=ROWS * np.nan)
    assert "ended abruptly" in compared(monkeypatch, 0.5, 0.5, 0.5, complaint="")
    assert ik.compiled_library() is None


def test_a_process_measures_each_evaluation_and_hands_over_its_logits(tiny_target):
    result, complaint = child_process.run(native_build.__name__, tiny_target)
    assert complaint is None
    seconds, rows = np.split(np.frombuffer(result, np.float32), [len(ENDS)])
    assert (seconds > 0).all()
    first, *others = rows.reshape(CYCLES, -1)
    assert np.std(first) > 0
    assert all(np.abs(row - first).max() < 1e-3 for row in others)
