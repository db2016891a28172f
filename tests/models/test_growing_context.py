"""A context that grows computes what a large one computes."""

import random
from unittest.mock import Mock

import pytest

from models.errors import ContextFull, ModelError
from models.native import model as native_model
from models.native.context import Context
from tests import tiny
from tests.engine import llama_alone
from tests.models.evaluations import assert_same, fresh, random_tokens

MOST = 1024


@pytest.fixture
def growing(open_tiny, monkeypatch):
    """A model whose context begins with 256 cells."""
    monkeypatch.setattr(native_model, "FIRST_CELLS", 256)
    return open_tiny(n_ctx=MOST)


@pytest.fixture
def cells(monkeypatch):
    """The sizes of the contexts that are made."""
    made, make = [], Context.__init__

    def noted(context, weights, settings, cancel):
        made.append(settings.n_ctx)
        make(context, weights, settings, cancel)

    monkeypatch.setattr(Context, "__init__", noted)
    return made


def test_a_context_grows_by_doubling_keeps_its_tokens_and_computes_the_same(cells, growing):
    rng = random.Random(1)
    tokens = random_tokens(rng, 250)
    growing.logits(tokens)
    assert growing.n_ctx == MOST
    while len(tokens) < MOST - 8:
        proposed = random_tokens(rng, 8)
        before = len(growing.cached_tokens)
        rows = growing.logits(tokens + proposed, rows=9).copy()
        assert growing.cached(tokens) >= before - 8
        if len(tokens) % 5 == 0:
            assert_same(rows, fresh(growing, tokens + proposed, 9))
        tokens += proposed[: rng.randrange(9)] + random_tokens(rng, 1)
    assert {256, 512, 1024} <= {*cells}
    with pytest.raises(ContextFull):
        growing.logits(random_tokens(rng, MOST + 1))


def test_nothing_is_evaluated_again_when_a_context_grows(growing):
    rng = random.Random(2)
    tokens = random_tokens(rng, 256)
    growing.logits(tokens)
    growing._evaluate = Mock(wraps=growing._evaluate)
    growing.logits([*tokens, 5])
    growing._evaluate.assert_called_once_with([5], 1)


def test_a_saved_cache_that_is_larger_than_the_context_is_restored(growing, open_tiny):
    tokens = random_tokens(random.Random(3), 700)
    growing.logits(tokens)
    other = open_tiny(n_ctx=MOST)
    assert other.cache_identity == growing.cache_identity
    assert other.restore(tokens, growing.state())
    assert_same(other.logits([*tokens, 7]), growing.logits([*tokens, 7]))


def test_tokens_are_read_again_where_there_is_no_memory_to_copy_them(growing, monkeypatch):
    tokens = random_tokens(random.Random(5), 300)
    growing.logits(tokens[:250])
    monkeypatch.setattr(Context, "state", Mock(side_effect=MemoryError))
    assert_same(growing.logits(tokens), fresh(growing, tokens, 1))


def test_a_context_for_which_there_is_no_memory_leaves_the_smaller_one(growing, monkeypatch):
    tokens = random_tokens(random.Random(4), 200)
    growing.logits(tokens)
    with monkeypatch.context() as patched:
        patched.setattr(Context, "__init__", Mock(side_effect=ModelError("no memory")))
        with pytest.raises(ModelError, match="no memory"):
            growing.logits([*tokens, *tokens])
    assert growing.cached_tokens == (*tokens,)


@pytest.mark.parametrize(
    "how",
    [
        {"kind": "gemma3"},
        pytest.param({"kind": "mamba"}, marks=llama_alone),
        pytest.param({"longrope": 512}, marks=llama_alone),
    ],
)
def test_a_model_whose_cache_cannot_move_has_all_cells_at_once(open_model, tmp_path, cells, how):
    open_model(tiny.write(tmp_path / "tiny.gguf", **how), n_ctx=MOST)
    assert cells == [MOST]
