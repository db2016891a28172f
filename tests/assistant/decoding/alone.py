"""A program that decodes speculatively with nothing but `assistant.decoding`, and proves it exact.

It runs in a folder of its own, into which only that room and `law.py` were copied.
"""

import sys

import numpy as np
from law import distance, law  # type: ignore[import-not-found]

from assistant.decoding.lookahead.plans import FixedPlan
from assistant.decoding.loops import speculative_round
from assistant.decoding.model import Model
from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.rule import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.model import ModelSource, VocabularyMapping
from assistant.decoding.sources.suffix import SuffixSource

VOCABULARY, LENGTH = 3, 3


class Toy(Model):
    """Logits that are the logarithms of small weights, a function of the last two tokens."""

    n_ctx, n_vocab, max_rows = 64, VOCABULARY, 16

    def __init__(self, seed):
        self._weights = np.random.default_rng(seed).integers(1, 7, (VOCABULARY, VOCABULARY, 3))

    def logits(self, tokens, rows=1):
        ends = range(len(tokens) - rows + 1, len(tokens) + 1)
        last = [([0, 0, *tokens[:end]])[-2:] for end in ends]
        return np.log([self._weights[a, b] for a, b in last]).astype(np.float32)


def row(logits, history):
    weights = np.round(np.exp(logits)).astype(int)
    return Row(np.arange(VOCABULARY), weights / weights.sum())


def sampled(rule, rng, target, draft):
    tokens = [0, 1, 0]
    model = ModelSource(draft, VocabularyMapping.by_number(VOCABULARY, VOCABULARY))
    drafter, rule = Cascade(SuffixSource(), model), rule(rng)
    while len(tokens) < 3 + LENGTH:
        speculative_round(target, drafter, tokens, FixedPlan(2), row, rule)
    return tuple(tokens[3 : 3 + LENGTH])


def expected(target, tokens):
    if len(tokens) == 3 + LENGTH:
        return {tuple(tokens[3:]): 1.0}
    now, result = row(target.logits(tokens)[0], tokens), {}
    for token, prob in zip(now.ids.tolist(), now.probs.tolist(), strict=True):
        later = expected(target, [*tokens, token])
        result |= {end: prob * each for end, each in later.items()}
    return result


target, draft = Toy(1), Toy(2)
for rule in (TokenRule, BlockRule):
    found = {
        end: float(p) for end, p in law(lambda u, r=rule: sampled(r, u, target, draft)).items()
    }
    wanted = expected(target, [0, 1, 0])
    away = sum(abs(found.get(end, 0.0) - p) for end, p in wanted.items()) / 2
    print(rule.__name__, len(found), f"{away:.1e}")
    assert away < 1e-12
    assert distance(law(lambda u: u.random() < 0.5), {True: 0.5, False: 0.5}) == 0
assert not {"models", "assistant.engine", "msgspec", "assistant.request"} & {*sys.modules}
