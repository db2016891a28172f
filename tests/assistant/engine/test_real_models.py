"""Greedy decoding with real weights: ArS and SpS emit the same, or part at a near-tie."""

import numpy as np
import pytest

from assistant.decoding.lookahead.plans import FixedPlan
from assistant.decoding.loops import autoregressive, speculative_round
from assistant.decoding.row import one_hot
from assistant.decoding.rules.rule import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Draft, Proposal
from assistant.decoding.sources.model import ModelSource, VocabularyMapping
from assistant.decoding.warp import warp
from assistant.prompt.prompt_tokens import ChatTokens
from assistant.request import Message, Sampling
from models.native.model import NativeModel
from models.native.weights import Weights
from tests.patience import ALL

pytestmark = pytest.mark.weights
LENGTH, WIDTHS = (24, (2, 3, 4, 5, 8, 16)) if ALL else (8, (4,))
PROMPTS = (
    "Write a Python function that reverses a linked list.",
    "Explain why the sky is blue in three sentences.",
)


def greedy(logits, history):
    return warp(logits, Sampling(temperature=0), history)


@pytest.fixture(scope="module")
def smol(smollm2):
    weights = Weights(smollm2)
    model = NativeModel(weights, n_ctx=1024)
    yield model
    model.close()
    weights.close()


def prompt_of(model, text: str) -> list[int]:
    return ChatTokens(model.weights.vocab).encode([Message("user", text)])


def decode(loop, tokens: list[int], count: int) -> list[int]:
    end = len(tokens) + count
    while len(tokens) < end:
        next(loop)
    return tokens[:end]


def width_difference(model, tokens: list[int], width: int) -> tuple[float, np.ndarray]:
    """Return how far rows of a batch lie from those of single tokens, and the single ones."""
    start = len(tokens) - width
    model.logits(tokens[:start], rows=0)
    batch = model.logits(tokens, rows=width).copy()
    model.logits(tokens[:start], rows=0)
    single = np.stack([model.logits(tokens[: start + i + 1])[0].copy() for i in range(width)])
    return float(np.abs(batch - single).max()), single


class Echo:
    """Propose what was decoded before, every third token spoilt: a draft of known quality."""

    def __init__(self, answer: list[int]) -> None:
        self._answer = answer

    def propose(self, tokens, plan, warp, draw):
        ahead = self._answer[len(tokens) : len(tokens) + plan.budget]
        spoilt = [
            token + 1 if (len(tokens) + i) % 3 == 0 else token for i, token in enumerate(ahead)
        ]
        return Draft(tuple(Proposal(token, one_hot(token), "echo") for token in spoilt))


@pytest.fixture(scope="module")
def noise(smol) -> float:
    """How much a batch moves a logit."""
    tokens = prompt_of(smol, PROMPTS[0])[:30]
    return max(width_difference(smol, tokens, width)[0] for width in WIDTHS)


@pytest.fixture(scope="module", params=PROMPTS, ids=["code", "prose"])
def ars(smol, request) -> tuple[int, list[int]]:
    """The length of a prompt, and of it with the text of ArS after it."""
    tokens = prompt_of(smol, request.param)
    start = len(tokens)
    decode(autoregressive(smol, tokens, greedy, TokenRule(np.random.default_rng())), tokens, LENGTH)
    return start, tokens


@pytest.mark.parametrize("k", [3, 1, 15, 7])
@pytest.mark.some(1)
def test_greedy_ars_and_sps_say_the_same_where_batches_compute_alike(smol, noise, ars, k):
    """SmolLM2 in Q4_1 does on every machine measured; where it does not, a near-tie is allowed."""
    start, expected = ars
    sps = expected[:start]
    rule = TokenRule(np.random.default_rng())
    while len(sps) < start + LENGTH:
        speculative_round(smol, Echo(expected), sps, FixedPlan(k), greedy, rule)
    check_same_or_near_tie(smol, expected, sps[: len(expected)], noise)


def check_same_or_near_tie(model, ars: list[int], sps: list[int], noise: float) -> float:
    """Return the gap between the two tokens where the texts part; 0 if they never do."""
    differ = [i for i, (a, b) in enumerate(zip(ars, sps, strict=False)) if a != b]
    if not differ:
        return 0.0
    at = differ[0]
    row = model.logits(ars[:at])[0]
    gap = float(abs(row[ars[at]] - row[sps[at]]))
    assert gap <= 2 * noise, f"they part at token {at}, {gap:.3f} apart; noise is {noise:.3f}"
    return gap


@pytest.mark.thorough
def test_the_default_pair_parts_from_ars_only_at_near_ties(open_model, default_pair):
    target, draft = (
        open_model(path, n_ctx=512, max_rows=rows, threads=None)
        for path, rows in zip(default_pair, (16, 1), strict=True)
    )
    prompt = prompt_of(target, PROMPTS[0])
    ars = list(prompt)
    decode(autoregressive(target, ars, greedy, TokenRule(np.random.default_rng())), ars, 40)
    noise = max(width_difference(target, ars, width)[0] for width in (2, 4, 8))
    for k in (1, 3, 7):
        sps, accepted, tested = list(prompt), 0, 0
        drafter = Cascade(
            ModelSource(draft, VocabularyMapping.by_number(target.n_vocab, draft.n_vocab))
        )
        rule = TokenRule(np.random.default_rng())
        while len(sps) < len(ars):
            round_, _ = speculative_round(target, drafter, sps, FixedPlan(k), greedy, rule)
            accepted, tested = accepted + round_.accepted, tested + round_.tested
        gap = check_same_or_near_tie(target, ars, sps[: len(ars)], noise)
        print(f"lookahead {k}: gap {gap:.3f}, noise {noise:.3f}, {accepted}/{tested} accepted")
        assert accepted / tested > 0.4  # on code this draft is right five times in six
