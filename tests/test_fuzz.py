"""The fuzzer finds what there is to find, and nothing in what we have."""

from dataclasses import replace

import pytest

from models.errors import ModelError
from tests.fuzz.hunt import Hunt
from tests.fuzz.targets import TARGETS, Target

TRIES = 300


@pytest.mark.parametrize("name", TARGETS)
def test_a_moment_of_fuzzing_breaks_nothing(tmp_path, name):
    hunt = Hunt(TARGETS[name], tmp_path)
    hunt.run(lambda: hunt.tried >= TRIES, seed=0)
    assert [path.with_suffix(".txt").read_text() for path in hunt.crashers] == []


def test_what_breaks_a_target_is_found_and_saved_once(tmp_path):
    def brittle(data: bytes) -> None:
        if b"llama" in data:
            raise ModelError("a refusal is not a fault")
        if data[2:3] == b"\xff":
            raise KeyError("a fault")

    target = Target(brittle, (ModelError,), lambda: iter((b"abcdef",)), (b"llama",))
    hunt = Hunt(target, tmp_path)
    hunt.run(lambda: hunt.tried >= 20 * TRIES, seed=0)
    assert len(hunt.crashers) == 1
    assert hunt.crashers[0].read_bytes()[2:3] == b"\xff"
    assert "KeyError: 'a fault'" in hunt.crashers[0].with_suffix(".txt").read_text()
    again = Hunt(replace(target, run=lambda data: None), tmp_path)
    assert again.tried > 1  # it begins with what was kept
