"""A target's own prediction head as a draft: a cache like any other, over the target's states."""

import random
from pathlib import Path

import numpy as np
import pytest

from models.drafts import Pairing, best_draft
from models.errors import ModelError
from models.files.locate import identify
from models.gguf import read
from models.native.engine import WeightSettings
from models.native.heads import WINDOW, HeadModel
from models.native.model import NativeModel
from models.native.weights import Weights
from tests import tiny
from tests.engine import llama_alone
from tests.models.test_llama_cache import assert_same, random_tokens
from tests.patience import ALL

pytestmark = llama_alone


@pytest.fixture(scope="module", params=["glm4moe", "qwen35"])
def weights(tmp_path_factory, request):
    folder, kind = tmp_path_factory.mktemp("heads"), request.param
    path = tiny.write(folder / f"{kind}.gguf", kind, seed=3, head=kind == "qwen35")
    weights = Weights(path, WeightSettings(heads=True))
    yield weights
    weights.close()


@pytest.fixture
def pair(weights):
    """Return makers of targets with a head, which are closed after the test."""
    opened = []

    def made():
        target = NativeModel(weights, n_ctx=1024, threads=1, heads=True)
        opened.insert(0, target)
        opened.insert(0, head := HeadModel(target))
        return target, head

    yield made
    for model in opened:
        model.close()


def expected(pair, tokens, known: int) -> np.ndarray:
    """Return what a head without a past says, of a target that has read so many tokens."""
    target, head = pair()
    target.logits(tokens[:known], rows=0)
    return np.array(head.logits(tokens)[0])


def test_after_hundreds_of_random_rounds_a_head_gives_what_one_without_a_past_gives(pair):
    rng = random.Random(5)
    target, head = pair()
    tokens = random_tokens(rng, 20)
    for i in range(1000 if ALL else 300):
        target.logits(tokens[:-1], rows=0)
        proposed: list[int] = []
        for _ in range(rng.randrange(0, 5)):
            context = tokens + proposed
            known = target.cached(context)
            row = head.logits(context)[0].copy()
            if i % 50 == 0:
                assert_same(row, expected(pair, context, known))
            sensible = rng.random() < 0.5
            proposed.append(int(row.argmax()) if sensible else rng.randrange(256))
        target.decided = len(tokens)
        target.logits(tokens + proposed, rows=len(proposed) + 1)
        kept = rng.randint(0, len(proposed))
        tokens = [*tokens, *proposed[:kept], rng.randrange(256)]
        match rng.randrange(12):
            case 0:
                tokens = tokens[: rng.randrange(2, len(tokens) + 1)]
            case 1:
                tokens += random_tokens(rng, rng.randrange(1, 300))
            case 2:
                tokens = random_tokens(rng, rng.randrange(2, 40))
        if len(tokens) > 450:  # a head reads no more than its window
            tokens = tokens[: rng.randrange(2, 300)]


def test_giving_out_states_changes_no_logits_of_the_target(pair, weights):
    target, _ = pair()
    plain = NativeModel(weights, n_ctx=1024, threads=1)
    tokens = random_tokens(random.Random(1), 300)
    assert_same(target.logits(tokens, rows=4), plain.logits(tokens, rows=4))
    plain.close()


def test_of_a_long_text_a_head_reads_the_last_tokens(pair):
    target, head = pair()
    tokens = random_tokens(random.Random(2), 900)
    target.logits(tokens[:-1], rows=0)
    assert len(tokens) - head.cached(tokens) == WINDOW
    assert np.isfinite(head.logits(tokens)).all()
    assert head.cached(tokens) == len(tokens)


def test_states_of_a_cache_that_was_restored_are_not_those_of_the_text_before(pair):
    target, head = pair()
    rng = random.Random(3)
    one, other = random_tokens(rng, 40), random_tokens(rng, 40)
    target.logits(one, rows=0)
    copy = target.state()
    target.logits(other, rows=0)
    assert target.restore(one, copy)
    assert not target.states_of(one)
    target.logits([*one, 7], rows=1)
    assert target.states_of([*one, 7]) == range(40, 41)
    assert np.isfinite(head.logits([*one, 7, 8])).all()


def test_a_file_says_how_many_heads_it_has_and_is_offered_as_its_own_draft(weights, tmp_path):
    assert read(weights.path).heads == 1
    target = identify(str(weights.path))
    assert Pairing(target).judge(target).serves
    assert not Pairing(target).matches(target)  # nobody gets it unasked
    plain = identify(str(tiny.write(tmp_path / "plain.gguf")))
    assert not Pairing(plain).judge(plain).serves


def test_without_a_draft_a_model_with_heads_is_said_to_draft_for_itself(weights):
    draft, reason = best_draft(identify(str(weights.path)), [])
    assert draft is None
    assert reason.endswith("--draft heads")


def test_a_model_without_heads_is_refused_with_the_reason(tmp_path: Path):
    weights = Weights(tiny.write(tmp_path / "plain.gguf"), WeightSettings(heads=True))
    target = NativeModel(weights, n_ctx=512, threads=1)
    with pytest.raises(ModelError, match=r"plain\.gguf has no prediction heads"):
        HeadModel(target)
    target.close()
    weights.close()
