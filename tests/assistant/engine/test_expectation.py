"""`Expectations`: the speed of a model here, estimated from measurements of others."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from assistant.engine.expectation import Expectation, Expectations, Span
from assistant.engine.model_profile import ModelProfile
from assistant.engine.profile import PROFILES
from models import catalog, engines
from models.catalog import FILES, GGUF
from models.files.disk import Records
from models.files.locate import identify
from models.files.model_file import ModelFile
from tests import tiny

ENTRY = FILES["qwen3-4b"]


class Machine:
    """Two model files, and what was measured of them in a folder."""

    def __init__(self, folder: Path) -> None:
        paths = [tiny.write(folder / f"{layers}.gguf", layers=layers) for layers in (2, 12)]
        self.folder, self.files = folder, [identify(str(path)) for path in paths]

    def measure(
        self,
        model: ModelFile,
        token_s: float,
        prompt_s: float,
        what: str = "verify",
        answered_s: float = 0.0,
    ) -> None:
        """Keep what a file took for a token of an answer, and of a prompt, in seconds."""
        status = model.path.stat()
        file = f"{status.st_size} {status.st_mtime_ns} | these"
        profile = ModelProfile([token_s], {1: [1.0], 2: [1.1]}, token_s=answered_s)
        profile.prompt_token_s = prompt_s if what == "verify" else 0.0
        Records(self.folder, PROFILES, ModelProfile).put(f"{what} | {file}", profile)

    @property
    def expectations(self) -> Expectations:
        return Expectations(self.files, self.folder)

    def expected(self, model: ModelFile | GGUF) -> Expectation:
        return cast(Expectation, self.expectations.of(model, None))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def width(span: Span | None) -> float:
    assert span
    return span.high / span.low


def test_without_measurements_there_is_no_expectation(machine: Machine) -> None:
    assert machine.expectations.of(machine.files[0], machine.files[1]) is None
    assert machine.expectations.of(ENTRY, None) is None
    assert machine.expectations.larger(machine.files[0]) is None


def test_no_size_gives_no_expectation(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "installed", lambda: ["llama"])  # which needs no header
    machine.measure(machine.files[0], 0.02, 0.004)
    (machine.folder / "bad.gguf").write_bytes(b"<html>")
    bad = ModelFile(machine.folder / "bad.gguf", "bad", "bad", "file")
    assert Expectations([bad, *machine.files], machine.folder).of(bad, None) is None
    assert machine.expected(machine.files[1])
    assert machine.expectations.of(replace(ENTRY, size=0), None) is None


def test_a_forecast_is_wider_the_less_a_file_is_like_those_measured_and_they_each_other(
    machine: Machine,
) -> None:
    machine.measure(machine.files[0], 0.02, 0.004)
    models: list[ModelFile | GGUF] = [*machine.files, ENTRY]
    own, other, listed = (machine.expected(each) for each in models)
    assert own.tokens_per_s.low < 50 < own.tokens_per_s.high < 60
    assert own.prompt_s
    assert own.prompt_s.low < 4 < own.prompt_s.high < 5
    for narrow, wide in ((own, other), (other, listed)):
        assert width(narrow.tokens_per_s) < width(wide.tokens_per_s)
        assert width(narrow.prompt_s) < width(wide.prompt_s)
    machine.measure(machine.files[1], 0.5, 0.004)  # which disagrees
    assert width(machine.expected(ENTRY).tokens_per_s) > width(listed.tokens_per_s)


@pytest.mark.parametrize(("measured_s", "answered_s"), [(0.5, 0.02), (0.02, 0.5), (0.02, 0.0)])
def test_the_faster_of_two_measurements_counts(
    machine: Machine, measured_s: float, answered_s: float
) -> None:
    machine.measure(machine.files[0], measured_s, 0.004, answered_s=answered_s)
    assert machine.expected(machine.files[0]).tokens_per_s.middle == pytest.approx(50)


def test_a_larger_model_is_expected_to_be_slower_by_the_active_part_of_its_weights(
    machine: Machine,
) -> None:
    machine.measure(machine.files[0], 0.0002, 0.0001)
    sizes = [10**7 * 2**n for n in range(12)]
    found = [machine.expected(replace(ENTRY, size=size)) for size in sizes]
    for small, large in pairwise(found):
        assert small.tokens_per_s > large.tokens_per_s
        assert small.tokens_per_s.high > large.tokens_per_s.high
        assert small.prompt_s < large.prompt_s  # type: ignore[operator]
    one, twelve = (machine.expected(each) for each in machine.files)
    assert one.tokens_per_s > twelve.tokens_per_s
    dense, sparse = (machine.expected(replace(ENTRY, active=part)) for part in (1.0, 0.1))
    assert sparse.tokens_per_s.low > 3 * dense.tokens_per_s.high


@pytest.mark.parametrize("weights", ["Q5_0", "Q4_1"])
def test_llama_cpp_is_slower_for_some_types(machine: Machine, monkeypatch, weights: str) -> None:
    monkeypatch.setattr(engines, "installed", lambda: ["llama"])
    machine.measure(machine.files[0], 0.0002, 0.0001)
    usual, slow = (replace(ENTRY, file=f"a-{each}.gguf") for each in ("Q4_K_M", weights))
    fast = machine.expected(usual).tokens_per_s
    assert machine.expected(slow).tokens_per_s.high < fast.high / 1.3


def test_a_draft_gains_from_nothing_to_what_is_typical(machine: Machine) -> None:
    draft, target = machine.files
    machine.measure(target, 0.02, 0.004)
    machine.measure(draft, 0.001, 0.004, what="draft")
    found = machine.expectations.of(target, draft)
    assert found
    assert found.drafted_tokens_per_s
    assert found.drafted_tokens_per_s.low == found.tokens_per_s.low
    # A round of two: 1.8 tokens, in 1.1 evaluations and a step of 0.05.
    gain = found.drafted_tokens_per_s.high / found.tokens_per_s.high
    assert gain == pytest.approx(1.8 / 1.15)
    machine.measure(draft, 0.05, 0.004, what="draft")
    slow = machine.expectations.of(target, draft)
    assert slow
    assert slow.drafted_tokens_per_s == slow.tokens_per_s


def test_the_best_model_that_fits_is_named(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {name: replace(ENTRY, name=name, size=int(name) * 10**9) for name in "1248"}
    monkeypatch.setattr(catalog, "FILES", sizes)

    def suggested(free: float, seconds: float, prompt_s: float) -> str:
        free_bytes = SimpleNamespace(free=free * 1e9)
        monkeypatch.setattr("models.machine.memory", lambda: free_bytes)
        machine.measure(machine.files[0], seconds, prompt_s)
        found = machine.expectations.larger(machine.files[0])
        return found[0].name if found else ""

    assert suggested(100, 1e-6, 1e-6) == "8"
    assert suggested(8, 1e-6, 1e-6) == "2"
    assert suggested(100, 1e-6, 0.5) == ""
    assert suggested(100, 10.0, 1e-6) == ""
    own = machine.expected(machine.files[0]).tokens_per_s
    assert "–" in str(own) or own.low == own.high
