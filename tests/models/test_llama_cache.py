"""The KV cache is only a cache: logits depend on the given tokens alone."""

import random
import threading

import numpy as np
import pytest

from models import gguf
from models.base import common_prefix_length
from models.errors import Cancelled
from models.memory import rollback_slots
from models.native.engine import BATCH
from models.native.model import NativeModel
from models.progress import CancelFlag
from tests import tiny
from tests.engine import ENGINE, llama_alone
from tests.models.evaluations import RECURRENT, assert_same, decoding, fresh, random_tokens
from tests.patience import ALL

ROUNDS = 1000 if ALL else 300


def evaluate(model: NativeModel, tokens: list[int], proposed: list[int]) -> np.ndarray:
    """Return the logits after `tokens` and each proposal, as a target asks for them or a draft."""
    if model.max_rows > 1:
        return model.logits(tokens + proposed, rows=len(proposed) + 1).copy()
    model.committed = len(tokens)
    ends = range(len(tokens), len(tokens) + len(proposed) + 1)
    return np.concatenate([model.logits((tokens + proposed)[:end]).copy() for end in ends])


def play(model: NativeModel, kind: str, rounds: int, check_every: int) -> None:
    """Speculate with random outcomes, jump about, and compare with a context without a past."""
    rng = random.Random(kind)
    tokens = random_tokens(rng, 20)
    for i in range(rounds):
        proposed = random_tokens(rng, rng.randrange(0, 8))
        context = tokens + proposed
        rows = evaluate(model, tokens, proposed)
        assert model.cached(context) == len(context)
        if i % check_every == 0:
            assert_same(rows, fresh(model, context, len(proposed) + 1))
        tokens = context[: len(tokens) + rng.randint(0, len(proposed))] + random_tokens(rng, 1)
        match rng.randrange(12):
            case 0:  # a question that is asked again
                tokens = tokens[: rng.randrange(1, len(tokens) + 1)]
            case 1:  # the next turn, by far longer
                tokens = (tokens + random_tokens(rng, rng.randrange(1, 300)))[:1000]
                model.logits(tokens, rows=0)
            case 2:  # another conversation
                tokens = random_tokens(rng, rng.randrange(1, 40))
        if len(tokens) > 900:
            tokens = tokens[: rng.randrange(1, 600)]
    assert_same(model.logits(tokens), fresh(model, tokens))


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_after_hundreds_of_random_rounds_the_cache_gives_what_a_fresh_one_gives(open_tiny, kind):
    model = open_tiny(kind)
    assert model.can_roll_back
    assert model.rollback is None
    assert (model.weights.sliding_window > 0) == (kind == "gemma3" and ENGINE == "llama")
    play(model, kind, ROUNDS, 50)


@llama_alone
@pytest.mark.parametrize("role", ["target", "draft"])
@pytest.mark.parametrize("kind", RECURRENT)
def test_recurrent_models_too(open_tiny, kind, role):
    """Up to 7 tokens are rejected, which the slots of some do not reach, nor of any draft."""
    model = open_tiny(kind, max_rows=32 if role == "target" else 1)
    assert model.weights.is_recurrent
    assert model.can_roll_back
    assert model.rollback == (RECURRENT[kind] if role == "target" else 0)
    play(model, kind, ROUNDS if role == "target" else ROUNDS // 4, 50)


@llama_alone
@pytest.mark.parametrize("layers", [16, 30])
def test_a_deep_model_keeps_the_states_that_its_graph_has_room_for(open_model, tmp_path, layers):
    """llama.cpp ends the process where they are too many: 29, with either."""
    path = tiny.write(tmp_path / "deep.gguf", "lfm2", seed=3, layers=layers)
    assert rollback_slots(gguf.read(path), 32) == 18
    model = open_model(path)
    assert model.rollback == 18
    play(model, "deep", 60, 20)


@llama_alone
@pytest.mark.parametrize("kind", RECURRENT)
def test_rejected_tokens_and_those_before_them_are_not_evaluated_again(open_tiny, kind):
    for max_rows in (32, 1):
        model = open_tiny(kind, max_rows=max_rows)
        tokens = random_tokens(random.Random(1), 400)
        model.logits(tokens[:-1], rows=0)
        room = (model.rollback or 7) if max_rows > 1 else 7
        for accepted in (0, 2, room - 1, room):
            accepted = min(accepted, room)
            proposed = random_tokens(random.Random(2), room)
            evaluate(model, tokens, proposed)
            tokens = [*tokens, *proposed[:accepted], 7]
            assert len(tokens) - model.cached(tokens) <= 3 * room + 4
            if model.rollback:
                assert len(tokens) - model.cached(tokens) == 1


@llama_alone
@pytest.mark.parametrize("kind", ["lfm2", "qwen35", "nemotron_h"])
def test_only_the_tokens_of_the_last_batch_are_taken_back_by_slots(open_tiny, kind):
    """llama.cpp would take back more, of a batch before, and compute something else."""
    model = open_tiny(kind)
    for batches in ([1, 1], [3, 1], [1, 2], [3, 2]):
        model.truncate(0)
        tokens = random_tokens(random.Random(3), 30)
        model.logits(tokens, rows=0)
        for size in batches:
            tokens = [*tokens, *[9] * size]
            model.logits(tokens, rows=size)
        back = [*tokens[:-2], 5, 6]
        assert_same(model.logits(back), fresh(model, back))
    # Once it has taken back some, the rest is of no use any more.
    model.logits([*back, 1, 2, 3], rows=3)
    model.truncate(len(back) + 2)
    model.truncate(len(back) + 1)
    assert_same(model.logits([*back, 1, 4]), fresh(model, [*back, 1, 4]))


@llama_alone
@pytest.mark.parametrize("kind", ["lfm2", "qwen35"])
def test_a_copy_of_what_was_taken_back_is_not_gone_back_to(open_tiny, kind):
    """The slots go back to before a copy; then the text goes on differently, and further back."""
    model = open_tiny(kind)
    tokens = random_tokens(random.Random(7), 40)
    model.logits([*tokens, 1], rows=0)
    model.logits([*tokens, 1, 2, 3], rows=2)
    model._context.checkpoint()
    model.truncate(len(tokens) + 2)
    other = [*tokens, 1, 2, 9, 8, 7, 6, 5]
    model.logits(other, rows=1)
    model.logits([*other, 5], rows=1)
    back = [*other[: len(tokens) + 3], 4]
    assert_same(model.logits(back), fresh(model, back))


@llama_alone
@pytest.mark.parametrize("kind", RECURRENT)
def test_a_cancelled_recurrent_model_goes_back_or_begins_again(open_tiny, kind, monkeypatch):
    flag = CancelFlag()
    model = open_tiny(kind, cancel=flag)
    tokens = random_tokens(random.Random(8), 60)
    for copies in (False, True):
        model.logits(tokens, rows=0)
        if copies:
            model._context.checkpoint()
        with decoding(monkeypatch, before=flag.raise_), pytest.raises(Cancelled):
            model.logits([*tokens, 1, 2, 3], rows=3)
        flag.lower()
        assert model.cached([*tokens, 1]) == (60 if copies or model.rollback == 0 else 0)
        assert_same(model.logits([*tokens, 1, 5], rows=2), fresh(model, [*tokens, 1, 5], 2))
        model.truncate(0)


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Return the total variation distance of the distributions that two rows of logits mean."""
    p, q = (np.exp(row.astype(np.float64) - row.max()) for row in (a, b))
    return float(np.abs(p / p.sum() - q / q.sum()).sum() / 2)


@pytest.mark.weights
@pytest.mark.thorough
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


@pytest.mark.parametrize(
    "length", [1, BATCH - 1, BATCH, BATCH + 1, BATCH + 31, 2 * BATCH + 5, 1024]
)
@pytest.mark.parametrize("rows", [0, 1, 32])
def test_long_prompts_are_read_in_batches_beside_the_rows(open_model, tiny_target, length, rows):
    model = open_model(tiny_target)
    tokens = random_tokens(random.Random(length), length)
    rows = min(rows, length)
    result = model.logits(tokens, rows=rows).copy()
    assert result.shape == (rows, model.n_vocab)
    assert model.cached(tokens) == length
    if rows:
        assert_same(result[-1:], fresh(model, tokens))


def test_a_cancel_during_a_long_prefill_keeps_what_was_read_and_can_go_on(open_model, tmp_path):
    """The whole context would take about a second."""
    path, flag = tiny.write(tmp_path / "slow.gguf", seed=4, n_ctx=8192, layers=24), CancelFlag()
    model = open_model(path, n_ctx=8192, cancel=flag)
    tokens = random_tokens(random.Random(2), 8000)
    timer = threading.Timer(0.15, flag.raise_)
    timer.start()
    with pytest.raises(Cancelled):
        model.logits(tokens)
    timer.join()
    kept = model.cached(tokens)
    assert kept < len(tokens)
    flag.lower()
    short = tokens[: kept + 40]
    assert_same(model.logits(short), fresh(model, short))
    assert model.cached(tokens) == len(short)


def test_a_common_prefix_is_what_counting_one_by_one_gives():
    rng = random.Random(1)
    for _ in range(2000):
        a = [rng.randrange(3) for _ in range(rng.randrange(60))]
        b = a[: rng.randrange(len(a) + 1)] + [rng.randrange(3) for _ in range(rng.randrange(9))]
        count = 0
        while count < min(len(a), len(b)) and a[count] == b[count]:
            count += 1
        assert common_prefix_length(a, b) == common_prefix_length(b, tuple(a)) == count
