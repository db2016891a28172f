"""`repacked`: mapped copies of models have the same logits, and are checked before use."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import gguf
import pytest

from models import child_process
from models.files import checksum
from models.native import loaded, repacked, repacking
from models.native.model import NativeModel
from models.native.weights import shared_weights
from models.progress import CancelFlag
from tests import tiny
from tests.engine import ENGINE
from tests.models.files.stores import file
from tests.patience import ALL, WAIT_S

pytestmark = pytest.mark.skipif(ENGINE != "ik", reason="the other engine has no such form on disk")
TOKENS = [token % 250 for token in range(0, 999, 27)]


@pytest.fixture(autouse=True)
def roomy(monkeypatch):
    """However full the disk of the tests is, there is room."""
    monkeypatch.setattr(repacking, "SPARE", 0)


def written(path: Path, seed: int = 0) -> Path:
    return tiny.write(path, seed=seed, weights=gguf.GGMLQuantizationType.Q4_0)


@pytest.fixture
def source(tmp_path) -> Path:
    return written(tmp_path / "tiny.gguf")


def logits(source: Path) -> tuple[bytes, bool]:
    """Return the logits of some tokens, and whether a copy was mapped."""
    with (
        shared_weights(source, None, CancelFlag()) as weights,
        closing(NativeModel(weights, n_ctx=256)) as model,
    ):
        sizes = (30, 1), (31, 1), (37, 4)
        rows = b"".join(model.logits(TOKENS[:end], count).tobytes() for end, count in sizes)
        maps = Path("/proc/self/maps").read_text()
        return rows, weights.copy is not None and str(weights.copy) in maps


def test_a_copy_is_mapped_and_has_the_logits_of_its_model_bit_for_bit(source):
    plain, mapped = logits(source)
    assert not mapped
    copy = repacking.make(source)
    assert copy is not None
    assert copy.read_bytes() != source.read_bytes()
    assert repacked.copied_bytes(source) == repacked.copied_bytes() == copy.stat().st_size
    assert logits(source) == (plain, True)
    repacked.remove()
    assert not copy.exists()
    assert logits(source) == (plain, False)


CHANGES = {
    "gone": Path.unlink,
    "shorter": lambda copy: os.truncate(copy, copy.stat().st_size - 1),
    "later": lambda copy: os.utime(copy, ns=(0, copy.stat().st_mtime_ns + 1)),
    "a link": lambda copy: copy.symlink_to(copy.rename(copy.with_suffix(".moved"))),
    "of another model": lambda copy: checksum.sha256_once(
        written(copy.parents[2] / "tiny.gguf", seed=1)
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_copy_that_is_not_as_it_was_written_or_of_another_model_is_not_used(source, change):
    CHANGES[change](repacking.make(source))
    assert repacked.find(source) is None
    assert repacking.make(source) is not None
    assert logits(source)[1]


def test_a_new_installation_of_the_library_uses_the_same_copy(source, tmp_path, monkeypatch):
    installed = [tmp_path / "one", tmp_path / "again"]
    for folder in installed:
        file(folder / "lib.so", b"library")
    first, again = (replace(loaded.engine(), folder=folder) for folder in installed)
    monkeypatch.setattr(loaded, "_loaded", (ENGINE, first))
    copy = repacking.make(source)
    monkeypatch.setattr(loaded, "_loaded", (ENGINE, again))
    assert repacked.find(source) == copy
    (installed[1] / "lib.so").write_bytes(b"updated")
    assert repacked.find(source) is None
    updated = repacking.make(source)
    assert [*repacked.folder().glob("*.repacked")] == [updated] != [copy]


def test_the_copies_used_last_stay_within_the_limit(tmp_path, monkeypatch):
    sources = [written(tmp_path / f"{n}.gguf", n) for n in range(4)]
    limit = 7 * sources[0].stat().st_size // 2
    monkeypatch.setattr(repacking, "LIMIT", limit)
    first, _, third = map(repacking.make, sources[:3])
    monkeypatch.setattr(repacked, "DAY_S", 0)
    assert repacked.find(sources[0]) == first  # used last
    (repacked.folder() / "0.part").touch()  # of a program that was killed
    fourth = repacking.make(sources[3])
    assert set(repacked.folder().glob("*.*")) - {*repacked.folder().glob("*.lock")} == {
        first, third, fourth, repacked.folder() / "copies.json",
    }  # fmt: skip
    sources[0].unlink()
    repacked.remove(limit)
    assert first not in [*repacked.folder().iterdir()]


def test_a_model_without_room_or_that_no_copy_can_be_made_of_is_used_as_it_is(source, monkeypatch):
    copy = repacking.make(written(source.with_name("other"), 3))
    with monkeypatch.context() as patch:
        patch.setattr(repacking, "LIMIT", 1)
        assert repacking.make(source) is None
    # Nothing is removed for a model that is too large itself.
    assert copy in [*repacked.folder().iterdir()]
    repacked.remove()
    monkeypatch.setattr(repacking, "SPARE", 1 << 60)
    assert repacking.make(source) is None
    monkeypatch.setattr(repacking, "SPARE", 0)
    monkeypatch.setattr(repacking, "_logits_of", lambda source, copy=None: copy)
    assert repacking.make(source) is None
    assert not [*repacked.folder().glob("*.[rp]*")]
    started = []
    monkeypatch.setattr(repacked, "SMALLEST", 0)
    monkeypatch.setattr(repacked, "sources_to_copy", {source})
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: started.append(True))
    repacked.make_later()
    assert not started  # it would fail again
    monkeypatch.setattr(repacked, "RETRY_S", 0)
    repacked.make_later()
    assert started


MOMENTS = [0.3 + at / 50 for at in range(50)] if ALL else [0.3, 0.5, 0.7, 0.9]


@pytest.mark.parametrize("after_s", MOMENTS)
def test_a_kill_at_any_moment_leaves_no_copy_or_a_sound_one(source, monkeypatch, after_s):
    command = [sys.executable, "-P", "-m", repacking.__name__, str(source)]
    process = subprocess.Popen(command, env=child_process.environment(), start_new_session=True)
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(WAIT_S)
    expected, _ = logits(source)
    assert repacking.make(source) is not None
    assert [*repacked.folder().glob("*.part")] == []
    assert logits(source) == (expected, True)
