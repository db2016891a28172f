"""A KV state that was saved and restored is the same state."""

import random

import numpy as np
import pytest

from tests import tiny
from tests.engine import llama_alone
from tests.models.evaluations import RECURRENT, assert_same, fresh, random_tokens

TOKENS = random_tokens(random.Random(5), 300)
MORE = random_tokens(random.Random(6), 9)


@pytest.mark.parametrize(
    "kind", ["llama", "gemma3", *(pytest.param(kind, marks=llama_alone) for kind in RECURRENT)]
)
def test_logits_after_a_restore_are_to_the_bit_what_they_were_to_be(open_tiny, kind):
    model, other = open_tiny(kind), open_tiny(kind)
    model.logits(TOKENS, rows=0)
    state = bytes(model.state())
    expected = model.logits(TOKENS + MORE, rows=5).copy()
    other.logits(MORE, rows=2)  # a past that is to leave no trace
    assert other.restore(TOKENS, memoryview(state))
    assert other.cached_tokens == tuple(TOKENS)
    assert (other.logits(TOKENS + MORE, rows=5) == expected).all()


@llama_alone
@pytest.mark.parametrize("kind", RECURRENT)
def test_a_state_in_which_tokens_were_taken_back_holds_the_others(open_tiny, kind):
    model, other = open_tiny(kind), open_tiny(kind)
    model.logits(TOKENS[:-2], rows=0)
    model.logits(TOKENS, rows=2)
    model.truncate(len(TOKENS) - 1)
    assert other.restore(model.cached_tokens, model.state())
    changed = [*TOKENS[:-1], *MORE]
    assert_same(other.logits(changed, rows=2), fresh(model, changed, 2))


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
@pytest.mark.parametrize("length", [299, 290, 200, 3])
def test_tokens_can_be_taken_back_after_a_restore(open_tiny, kind, length):
    model, other = open_tiny(kind), open_tiny(kind)
    model.logits(TOKENS, rows=0)
    assert other.restore(TOKENS, model.state())
    changed = TOKENS[:length] + MORE
    assert other.cached(changed) == length
    if not model.restores_in_part:
        assert (other.logits(changed) == model.logits(changed)).all()
    assert_same(other.logits(changed), fresh(model, changed))


def test_a_state_that_llama_cpp_refuses_leaves_an_empty_cache_that_works(open_tiny, open_model):
    model = open_tiny()
    stranger = open_model(tiny.write(model.weights.path.with_name("other.gguf"), layers=3))
    for each in (model, stranger):
        each.logits(TOKENS, rows=0)
    state = bytes(model.state())
    for bad in (b"", state[:1], state[:-1], state[: len(state) // 2], bytes(stranger.state())):
        model.logits(MORE, rows=0)
        assert not model.restore(TOKENS, memoryview(bad))
        assert model.cached_tokens == ()
        assert_same(model.logits(MORE), fresh(model, MORE))


@pytest.mark.parametrize("claimed", [TOKENS[:-1], [*TOKENS, 7], [], TOKENS[:1]], ids=len)
def test_a_state_is_refused_if_it_holds_more_or_fewer_tokens_than_is_said(open_tiny, claimed):
    model, other = open_tiny(), open_tiny()
    model.logits(TOKENS, rows=0)
    assert not other.restore(claimed, model.state())
    assert other.cached_tokens == ()
    assert_same(other.logits([*claimed, *MORE]), fresh(model, [*claimed, *MORE]))


def test_a_context_too_small_for_a_state_refuses_it(open_tiny):
    model, small = open_tiny(), open_tiny(n_ctx=256)
    model.logits(TOKENS, rows=0)
    assert not small.restore(TOKENS, model.state())
    assert_same(small.logits(MORE), fresh(model, MORE))


def test_the_pace_of_reading_is_known_after_a_long_prompt(open_tiny):
    model = open_tiny()
    model.logits(MORE)
    assert model.seconds_per_token is None
    model.logits(TOKENS, rows=0)
    assert model.seconds_per_token is not None
    assert 0 < model.seconds_per_token < 1
    assert np.isfinite(model.logits(TOKENS)).all()
