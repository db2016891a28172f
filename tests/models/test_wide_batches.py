"""Wide batches have the logits of narrow ones, also where ik_llama.cpp's kernels are wrong.

ik_llama.cpp misreads Q4_1 and Q5_1 where a matrix has rows of no multiple of 128 weights.
"""

from dataclasses import replace

import gguf
import numpy as np
import pytest

from assistant.engine.batch_check import ERROR, error_of_wide_batches
from models import gguf as headers
from models import ik
from models.native import loaded
from tests import tiny
from tests.engine import ENGINE

Kind = gguf.GGMLQuantizationType
MISREAD = (Kind.Q4_1, Kind.Q5_1)
KINDS = (Kind.F32, Kind.Q4_0, *MISREAD, Kind.Q5_0, Kind.Q8_0)
LONG = [7919 * i % 256 for i in range(200)]


@pytest.fixture
def sized(monkeypatch):
    """Have tiny models be of another size: a row has as many weights as the embedding."""

    def size(embedding):
        monkeypatch.setattr(tiny, "EMBEDDING", embedding)
        monkeypatch.setattr(tiny, "FEED_FORWARD", 2 * embedding)
        monkeypatch.setattr(tiny, "HEAD", embedding // 2)

    return size


@pytest.mark.parametrize("max_rows", [1, 32], ids=["draft", "target"])
@pytest.mark.parametrize("embedding", [64, 128, 192])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_any_width_reads_as_one_by_one(tmp_path, sized, open_model, kind, embedding, max_rows):
    sized(embedding)
    model = open_model(tiny.write(tmp_path / "m.gguf", weights=kind), max_rows=max_rows)
    rows = model.max_rows
    together = model.logits(LONG, rows).copy()
    other, ends = open_model(model.weights.path), range(len(LONG) - rows + 1, len(LONG) + 1)
    apart = np.concatenate([other.logits(LONG[:end]).copy() for end in ends])
    distance = np.linalg.norm(together - apart, axis=1) / np.linalg.norm(apart, axis=1)
    assert distance.max() < 0.1
    assert error_of_wide_batches(model) < ERROR


def test_a_context_of_a_few_tokens_has_no_wide_batches(tmp_path, open_model):
    model = open_model(tiny.write(tmp_path / "m.gguf", n_ctx=4))
    assert error_of_wide_batches(model) == 0.0


@pytest.mark.skipif(ENGINE != "ik", reason="the other engine has no such kernels")
@pytest.mark.parametrize("kind", MISREAD, ids=lambda kind: kind.name)
def test_without_the_limit_wide_batches_are_wrong(tmp_path, open_model, monkeypatch, kind):
    unlimited = replace(loaded.engine(), widest_batch=lambda header: None)
    monkeypatch.setattr(loaded, "_loaded", (ENGINE, unlimited))
    path = tiny.write(tmp_path / "m.gguf", weights=kind)
    assert error_of_wide_batches(open_model(path)) > ERROR
    assert error_of_wide_batches(open_model(path), wide=31, narrow=1) < 0.1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_header_says_which_files_are_limited(tmp_path, sized, kind):
    limits = {}
    for embedding in (64, 128, 192, 256):
        sized(embedding)
        path = tiny.write(tmp_path / f"{embedding}.gguf", weights=kind)
        limits[embedding] = ik.widest_batch(headers.read(path))
    limit = ik.SOUND if kind in MISREAD else None
    assert limits == {64: limit, 128: None, 192: limit, 256: None}


def test_a_limit_shows_in_what_speed_and_cache_depend_on(open_model, tiny_target):
    model = open_model(tiny_target)
    before = model.conditions, model.cache_identity
    model.limit_batch(16)
    assert (model.batch, model.max_rows) == (16, 16)
    assert before[0] != model.conditions
    assert before[1] != model.cache_identity
