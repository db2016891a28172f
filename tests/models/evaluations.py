"""Tiny models of every architecture, and comparison of two evaluations' logits."""

import random
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from models.native.model import NativeModel
from models.native.weights import Weights
from tests import tiny

# Of logits with a deviation of 8: the cache holds 16-bit numbers, batches sum in their own order.
CLOSE = 0.1
# Those of tokens that never come are near -1100, and as exact for their size.
CLOSE_IN_SIZE = 1e-3


@contextmanager
def tiny_model(folder: Path, kind: str = "llama", **options):
    weights = Weights(tiny.write(folder / f"{kind}.gguf", kind, seed=3))
    model = NativeModel(weights, **{"n_ctx": 1024, "threads": 1, **options})
    try:
        yield model
    finally:
        model.close()
        weights.close()


def fresh(model: NativeModel, tokens, rows: int = 1) -> np.ndarray:
    """Return the logits that a context without a past gives."""
    other = NativeModel(model.weights, n_ctx=model.n_ctx, threads=1)
    try:
        return other.logits(tokens, rows).copy()
    finally:
        other.close()


def assert_same(a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_allclose(a, b, CLOSE_IN_SIZE, CLOSE)


def random_tokens(rng: random.Random, count: int) -> list[int]:
    return [rng.randrange(256) for _ in range(count)]


RECURRENT = {"lfm2": 31, "qwen35": 6, "nemotron_h": 2, "mamba": 0}
"""Tokens that each kind takes back for nothing: as its weights, a tenth of them, have room for."""
