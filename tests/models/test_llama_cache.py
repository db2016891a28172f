"""The KV cache is only a cache: the logits depend on the tokens given and on nothing before."""

import random
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from models.cancel import CancelFlag
from models.errors import Cancelled
from models.native.batch import BATCH
from models.native.model import NativeModel
from models.native.weights import Weights
from tests import tiny
from tests.engine import ENGINE, llama_alone

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


def test_a_rejected_proposal_leaves_no_trace():
    with tempfile.TemporaryDirectory() as folder, tiny_model(Path(folder)) as model:
        for after in ([1, 2, 3, 9], [1, 2, 9, 4, 5, 6, 7], [8, 2, 3]):
            model.logits([1, 2, 3, 4, 5, 6], rows=4)
            assert_same(model.logits(after), fresh(model, after))


def play(model: NativeModel, kind: str, rounds: int, check_every: int) -> None:
    """Speculate with random outcomes, jump about, and compare with a context without a past."""
    rng = random.Random(kind)
    tokens = random_tokens(rng, 20)
    for i in range(rounds):
        proposed = random_tokens(rng, rng.randrange(0, 8))
        context = tokens + proposed
        rows = model.logits(context, rows=len(proposed) + 1).copy()
        assert model.cached(context) == len(context)
        if i % check_every == 0:
            assert_same(rows, fresh(model, context, len(proposed) + 1))
        tokens = context[: len(tokens) + rng.randint(0, len(proposed))] + random_tokens(rng, 1)
        match rng.randrange(12):
            case 0:  # a question that is asked again
                tokens = tokens[: rng.randrange(1, len(tokens) + 1)]
            case 1:  # the next turn, by far longer
                tokens = tokens + random_tokens(rng, rng.randrange(1, 300))
                model.logits(tokens, rows=0)
            case 2:  # another conversation
                tokens = random_tokens(rng, rng.randrange(1, 40))
        if len(tokens) > 900:
            tokens = tokens[: rng.randrange(1, 600)]
    assert_same(model.logits(tokens), fresh(model, tokens))


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_after_1000_random_rounds_the_cache_gives_what_a_fresh_context_gives(tmp_path, kind):
    with tiny_model(tmp_path, kind) as model:
        assert model.can_roll_back
        assert (model.weights.sliding_window > 0) == (kind == "gemma3" and ENGINE == "llama")
        play(model, kind, 1000, 50)


@llama_alone
@pytest.mark.parametrize("kind", ["mamba", "lfm2"])
def test_models_that_cannot_roll_back_say_so_and_still_compute_the_right_logits(tmp_path, kind):
    with tiny_model(tmp_path, kind) as model:
        assert not model.can_roll_back
        assert model.weights.is_recurrent
        play(model, kind, 60, 6)


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Return the total variation distance of the distributions that two rows of logits mean."""
    p, q = (np.exp(row.astype(np.float64) - row.max()) for row in (a, b))
    return float(np.abs(p / p.sum() - q / q.sum()).sum() / 2)


@pytest.mark.weights
def test_a_real_sliding_window_rolls_back_beyond_its_window(open_model, gemma3):
    model = open_model(gemma3, n_ctx=2048, threads=None)
    weights = model.weights
    text = "The quick brown fox jumps over the lazy dog. " * 400
    tokens = weights.vocab.tokenize(text)[:1700]
    assert len(tokens) > 2 * weights.sliding_window
    model.logits(tokens, rows=2)
    back = tokens[:200]
    here, expected = model.logits(back)[0].copy(), fresh(model, back)[0]
    assert distance(here, expected) < 0.1
    # So far off is a model that sees only the last two of these tokens.
    assert distance(expected, fresh(model, back[-2:])[0]) > 0.9


def test_every_row_is_the_logits_after_its_token(open_model, tiny_target):
    model = open_model(tiny_target)
    tokens = random_tokens(random.Random(1), 40)
    rows = model.logits(tokens, rows=9).copy()
    for i in range(9):
        assert_same(rows[i], model.logits(tokens[: 32 + i])[0])


def test_asking_again_for_what_is_cached_computes_it_again_alike(open_model, tiny_target):
    model = open_model(tiny_target)
    tokens = random_tokens(random.Random(1), 300)
    first = model.logits(tokens, rows=3).copy()
    assert_same(model.logits(tokens, rows=3), first)
    assert_same(model.logits(tokens[:50]), fresh(model, tokens[:50]))


@pytest.mark.parametrize(
    "length", [1, BATCH - 1, BATCH, BATCH + 1, BATCH + 31, 2 * BATCH + 5, 1024]
)
@pytest.mark.parametrize("rows", [0, 1, 32])
def test_long_prompts_are_read_in_batches_that_leave_room_for_the_rows(
    open_model, tiny_target, length, rows
):
    model = open_model(tiny_target)
    tokens = random_tokens(random.Random(length), length)
    rows = min(rows, length)
    result = model.logits(tokens, rows=rows).copy()
    assert result.shape == (rows, model.n_vocab)
    assert model.cached(tokens) == length
    if rows:
        assert_same(result[-1:], fresh(model, tokens))


def cancel_soon(flag: CancelFlag, seconds: float) -> threading.Thread:
    def work() -> None:
        time.sleep(seconds)
        flag.raise_()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.fixture
def slow_model(open_model, tmp_path):
    """A model that reads its context in about a second."""
    path, flag = tiny.write(tmp_path / "slow.gguf", seed=4, n_ctx=8192, layers=24), CancelFlag()
    return open_model(path, n_ctx=8192, cancel=flag), flag


def test_a_cancel_during_a_long_prefill_keeps_what_was_read_and_can_go_on(slow_model):
    model, flag = slow_model
    tokens = random_tokens(random.Random(2), 8000)
    thread = cancel_soon(flag, 0.15)
    with pytest.raises(Cancelled):
        model.logits(tokens)
    thread.join()
    kept = model.cached(tokens)
    assert kept < len(tokens)
    flag.lower()
    short = tokens[: kept + 40]
    assert_same(model.logits(short), fresh(model, short))
    assert model.cached(tokens) == len(short)


def test_a_raised_flag_stops_every_evaluation_until_it_is_lowered(slow_model):
    model, flag = slow_model
    model.logits([1, 2, 3])
    flag.raise_()
    for _ in range(3):
        with pytest.raises(Cancelled):
            model.logits([1, 2, 3, 4])
    assert model.cached([1, 2, 3, 4]) == 3
    flag.lower()
    assert_same(model.logits([1, 2, 3, 4]), fresh(model, [1, 2, 3, 4]))
