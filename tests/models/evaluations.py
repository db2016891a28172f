"""Tokens to evaluate, and comparison of two evaluations' logits."""

import random
from contextlib import closing, contextmanager

import numpy as np

from models.native import loaded
from models.native.model import NativeModel

# Of logits with a deviation of 8: the cache holds 16-bit numbers, batches sum in their own order.
CLOSE = 0.1
# Those of tokens that never come are near -1100, and as exact for their size.
CLOSE_IN_SIZE = 1e-3


def fresh(model: NativeModel, tokens, rows: int = 1) -> np.ndarray:
    """Return the logits that a context without a past gives."""
    with closing(NativeModel(model.weights, n_ctx=model.n_ctx, threads=1)) as other:
        return other.logits(tokens, rows).copy()


def assert_same(a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_allclose(a, b, CLOSE_IN_SIZE, CLOSE)


@contextmanager
def decoding(monkeypatch, before=lambda: None, after=lambda: None):
    """Do something before and after each evaluation of the library."""
    c = loaded.engine().c
    decode = c.llama_decode

    def wrapped(*given):
        before()
        code = decode(*given)
        after()
        return code

    with monkeypatch.context() as patched:
        patched.setattr(c, "llama_decode", wrapped)
        yield


def random_tokens(rng: random.Random, count: int) -> list[int]:
    return [rng.randrange(256) for _ in range(count)]


RECURRENT = {"lfm2": 31, "qwen35": 6, "nemotron_h": 2, "mamba": 0}
"""Tokens that each kind takes back for nothing: as its weights, a tenth of them, have room for."""
