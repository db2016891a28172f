"""A KV state that was saved and restored is the same state."""

import random

import numpy as np
import pytest

from models.native.model import NativeModel
from tests import tiny
from tests.engine import llama_alone
from tests.models.evaluations import RECURRENT, assert_same, fresh, random_tokens, tiny_model

TOKENS = random_tokens(random.Random(5), 300)
MORE = random_tokens(random.Random(6), 9)


def another(model: NativeModel, **options) -> NativeModel:
    return NativeModel(model.weights, **{"n_ctx": 1024, "threads": 1, **options})


@pytest.mark.parametrize(
    "kind", ["llama", "gemma3", *(pytest.param(kind, marks=llama_alone) for kind in RECURRENT)]
)
def test_logits_after_a_restore_are_to_the_bit_what_they_were_to_be(tmp_path, kind):
    with tiny_model(tmp_path, kind) as model:
        model.logits(TOKENS, rows=0)
        state = bytes(model.state())
        expected = model.logits(TOKENS + MORE, rows=5).copy()
        other = another(model)
        other.logits(MORE, rows=2)  # a past that is to leave no trace
        assert other.restore(TOKENS, memoryview(state))
        assert other.cached_tokens == tuple(TOKENS)
        assert (other.logits(TOKENS + MORE, rows=5) == expected).all()
        other.close()


@llama_alone
@pytest.mark.parametrize("kind", RECURRENT)
def test_a_state_in_which_tokens_were_taken_back_holds_the_others(tmp_path, kind):
    with tiny_model(tmp_path, kind) as model:
        model.logits(TOKENS[:-2], rows=0)
        model.logits(TOKENS, rows=2)
        model.truncate(len(TOKENS) - 1)
        cached_tokens, state = model.cached_tokens, model.state()
        other = another(model)
        assert other.restore(cached_tokens, state)
        changed = [*TOKENS[:-1], *MORE]
        assert_same(other.logits(changed, rows=2), fresh(model, changed, 2))
        other.close()


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
@pytest.mark.parametrize("length", [299, 290, 200, 3])
def test_tokens_can_be_taken_back_after_a_restore(tmp_path, kind, length):
    with tiny_model(tmp_path, kind) as model:
        model.logits(TOKENS, rows=0)
        other = another(model)
        assert other.restore(TOKENS, model.state())
        changed = TOKENS[:length] + MORE
        assert other.cached(changed) == length
        if not model.restores_in_part:
            assert (other.logits(changed) == model.logits(changed)).all()
        assert_same(other.logits(changed), fresh(model, changed))
        other.close()


def test_a_state_that_llama_cpp_refuses_leaves_an_empty_cache_that_works(open_model, tmp_path):
    with tiny_model(tmp_path) as model:
        model.logits(TOKENS, rows=0)
        state = bytes(model.state())
        stranger = open_model(tiny.write(tmp_path / "other.gguf", layers=3))
        stranger.logits(TOKENS, rows=0)
        for bad in (b"", state[:1], state[:-1], state[: len(state) // 2], bytes(stranger.state())):
            model.logits(MORE, rows=0)
            assert not model.restore(TOKENS, memoryview(bad))
            assert model.cached_tokens == ()
            assert_same(model.logits(MORE), fresh(model, MORE))


@pytest.mark.parametrize("cached_tokens", [TOKENS[:-1], [*TOKENS, 7], [], TOKENS[:1]], ids=len)
def test_a_state_is_refused_if_it_holds_more_or_fewer_tokens_than_is_said(tmp_path, cached_tokens):
    with tiny_model(tmp_path) as model:
        model.logits(TOKENS, rows=0)
        other = another(model)
        assert not other.restore(cached_tokens, model.state())
        assert other.cached_tokens == ()
        assert_same(other.logits([*cached_tokens, *MORE]), fresh(model, [*cached_tokens, *MORE]))
        other.close()


def test_a_context_too_small_for_a_state_refuses_it(open_model, tiny_target):
    model = open_model(tiny_target)
    model.logits(TOKENS, rows=0)
    small = another(model, n_ctx=256)
    assert not small.restore(TOKENS, model.state())
    assert_same(small.logits(MORE), fresh(model, MORE))
    small.close()


def test_forgetting_keeps_the_first_tokens(open_model, tiny_target):
    model = open_model(tiny_target)
    model.logits(TOKENS, rows=0)
    model.truncate(200)
    assert model.cached_tokens == tuple(TOKENS[:200])
    assert_same(model.logits(TOKENS[:200] + MORE), fresh(model, TOKENS[:200] + MORE))
    model.truncate(0)
    assert model.cached_tokens == ()


def test_the_pace_of_reading_is_known_after_a_long_prompt(open_model, tiny_target):
    model = open_model(tiny_target)
    model.logits(MORE)
    assert model.seconds_per_token is None
    model.logits(TOKENS, rows=0)
    assert model.seconds_per_token is not None
    assert 0 < model.seconds_per_token < 1
    assert np.isfinite(model.logits(TOKENS)).all()
