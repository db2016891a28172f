"""Seeded twins with real weights: ArS and SpS say the same at any temperature.

They do so wherever the target's rows are the same. Rows of a batch may differ from those of single
tokens in the last bits, so each row is computed by itself here; and for rows that come from batches
every token is held to be the very one that the seed draws from its row.
"""

import numpy as np
import pytest

from assistant.chat.prompt_tokens import ChatTokens
from assistant.decoding.lookahead.policy import Fixed
from assistant.decoding.loops import autoregressive, speculative
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.warp import warp
from assistant.request import Message, Sampling
from models.llama.model import LlamaModel
from models.llama.weights import Weights
from models.mapping import Mapping

pytestmark = pytest.mark.weights
LENGTH = 40


def warm(logits, history):
    return warp(logits, Sampling(0.8, 40, 0.95), history)


class Hotter(ModelSource):
    """A draft that is less sure than the target."""

    def row(self, tokens, _warp):
        return super().row(tokens, lambda logits, history: warp(logits, Sampling(1.2), history))


def hotter(target, draft):
    return Hotter(draft, Mapping.by_number(target.n_vocab, draft.n_vocab))


class OneByOne:
    """A target that computes every row by itself."""

    def __init__(self, model):
        self._model = model

    def logits(self, tokens, rows=1):
        ends = range(len(tokens) - rows + 1, len(tokens) + 1)
        return np.stack([self._model.logits(tokens[:end])[0].copy() for end in ends])


@pytest.fixture(scope="module")
def pair(smollm2):
    weights = Weights(smollm2)
    models = [LlamaModel(weights, n_ctx=256, threads=1) for _ in range(2)]
    yield models
    for model in models:
        model.close()
    weights.close()


@pytest.fixture
def prompt(pair):
    pair[0].logits([0])  # so that every answer reads the prompt in one batch
    return ChatTokens(pair[0].weights.vocab).encode([Message("user", "Tell me about the moon.")])


@pytest.fixture(params=[1, 2**40])
def seed(request):
    return request.param


@pytest.fixture
def said(pair, prompt, seed):
    tokens = list(prompt)
    loop = autoregressive(pair[0], tokens, warm, CoupledRule(seed))
    for _ in range(LENGTH):
        next(loop)
    pair[0].logits([0])
    return tokens


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.some(2)
def test_a_seed_says_the_same_in_sps_as_in_ars(pair, prompt, seed, said, k):
    tokens, accepted, rounds = list(prompt), 0, 0
    drafter = Cascade(hotter(*pair))
    loop = speculative(
        OneByOne(pair[0]), drafter, tokens, lambda: Fixed(k), warm, CoupledRule(seed)
    )
    while len(tokens) < len(said):
        accepted += next(loop).accepted
        rounds += 1
    assert tokens[: len(said)] == said
    assert 0 < accepted < k * rounds


def test_every_token_is_what_the_seed_draws_from_its_row(pair, prompt, seed):
    tokens = list(prompt)
    drafter, rule = Cascade(hotter(*pair)), CoupledRule(seed)
    loop = speculative(pair[0], drafter, tokens, lambda: Fixed(3), warm, rule)
    while len(tokens) < len(prompt) + LENGTH:
        start = len(tokens)
        for position, token in enumerate(next(loop).tokens, start):
            assert rule.draw(token.target_row, position) == token.id
