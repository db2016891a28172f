"""The law of what the real loop yields with real llama.cpp, by chi-square, under every rule.

False alarms below 1e-7 each; see `chi_square`.
"""

import math
from collections import Counter

import numpy as np
import pytest

from assistant.decoding.loops import speculative
from assistant.decoding.mapping import Mapping
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Fixed
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.warp import Row, warp
from assistant.request import Sampling
from models.native.model import NativeModel
from models.native.weights import Weights
from tests import tiny
from tests.assistant.chi_square import agrees
from tests.assistant.decoding.rules.given import coupled_acceptance

ROUNDS = {"token": 3_000, "block": 3_000, "coupled": 6_000}  # which accepts less often
SAMPLING = Sampling(temperature=45, top_k=7, top_p=0.95)
PROMPT = [72, 101, 108, 108, 111]


MADE: dict[bytes, Row] = {}
"""Rows by their logits: a hundred of them are all that so short answers need."""


def warped(logits, history):
    key = logits.tobytes()  # of what was said before, this sampling asks nothing
    if key not in MADE:
        MADE[key] = warp(logits, SAMPLING, history)
    return MADE[key]


def row(model, context) -> dict[int, float]:
    made = warped(model.logits(context)[0], context)
    return dict(zip(made.ids.tolist(), made.probs.tolist(), strict=True))


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("law")
    target = Weights(tiny.write(folder / "target.gguf", seed=11))
    draft = Weights(tiny.write(folder / "draft.gguf", seed=12, like=11, noise=0.6))
    models = (
        NativeModel(target, n_ctx=512, threads=1),
        NativeModel(draft, n_ctx=512, max_rows=1, threads=1),
    )
    yield models
    for model in models:
        model.close()
    target.close()
    draft.close()


def by_one_stream(kind):
    """Return a rule's name, and what makes the rule of each answer."""
    rule = kind(np.random.default_rng(20))
    return lambda number: rule


RULES = {
    "token": by_one_stream(TokenRule),
    "block": by_one_stream(BlockRule),
    "coupled": CoupledRule,
}


@pytest.fixture(scope="module", params=RULES)
def rule(request):
    return request.param


@pytest.fixture(scope="module")
def rounds(pair, rule):
    """Rounds of two proposals after one prompt, each of a separate answer."""
    target, draft = pair
    drafter = Cascade(ModelSource(draft, Mapping.by_number(target.n_vocab, draft.n_vocab)))
    return [
        next(
            speculative(
                target, drafter, list(PROMPT), lambda: Fixed(2), warped, RULES[rule](number)
            )
        )
        for number in range(ROUNDS[rule])
    ]


def ids(round_) -> tuple[int, ...]:
    return tuple(token.id for token in round_.tokens)


@pytest.mark.some(1)
def test_the_pair_disagrees_enough_to_test_anything(rounds):
    accepted = Counter(round_.accepted for round_ in rounds)
    assert min(accepted[0], accepted[1], accepted[2]) > len(rounds) / 20


def test_the_first_token_has_the_law_of_the_target(pair, rounds):
    assert agrees(Counter(ids(round_)[0] for round_ in rounds), row(pair[0], PROMPT))


def test_acceptance_is_what_the_rows_have_in_common(pair, rounds, rule):
    target, draft = (row(model, PROMPT) for model in pair)
    rate = sum(min(p, draft.get(token, 0)) for token, p in target.items())
    if rule == "coupled":
        rate = coupled_acceptance(target, draft)
    accepted = sum(round_.accepted > 0 for round_ in rounds)
    deviation = math.sqrt(len(rounds) * rate * (1 - rate))
    assert abs(accepted - len(rounds) * rate) < 5.5 * deviation  # P < 4e-8


def test_wrong_laws_are_noticed(pair, rounds):
    """The same counts are far from the draft's law, and rejected positions from the target's."""
    target, draft = (row(model, PROMPT) for model in pair)
    firsts = Counter(ids(round_)[0] for round_ in rounds)
    everywhere = dict.fromkeys(target, 1e-09)
    assert not agrees(firsts, everywhere | draft, false_alarm=1e-12)
    rejected = Counter(ids(round_)[0] for round_ in rounds if round_.accepted == 0)
    assert not agrees(rejected, target, false_alarm=1e-12)
