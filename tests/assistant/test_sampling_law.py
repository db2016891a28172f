"""The law of what the real loop yields with real llama.cpp, by chi-square.

For a chi-square variable of d degrees of freedom, P(X >= d + 2 sqrt(d t) + 2 t) <= exp(-t) (Laurent
and Massart 2000, lemma 1). A statistic beyond `bound(d, 1e-7)` is therefore a false alarm with
probability below one in ten million; the seed is fixed, so the verdict never changes by itself.
"""

import math
from collections import Counter

import numpy as np
import pytest

from assistant.decoding import autoregressive, speculative
from assistant.drafting.model import ModelDrafter
from assistant.warp import Sampling, warp
from models.llama.model import LlamaModel
from models.llama.weights import Weights
from tests import tiny

ROUNDS = 20_000
SAMPLING = Sampling(temperature=45, top_k=7, top_p=0.95)
PROMPT = [72, 101, 108, 108, 111]


def warped(logits, history):
    return warp(logits, SAMPLING, history)


def bound(degrees: int, false_alarm: float) -> float:
    t = -math.log(false_alarm)
    return degrees + 2 * math.sqrt(degrees * t) + 2 * t


def statistic(counts: Counter[int], probs: dict[int, float]) -> tuple[float, int]:
    """Return chi-square and its degrees of freedom; rare tokens share a cell."""
    assert counts.keys() <= probs.keys()
    total = sum(counts.values())
    cells: list[tuple[float, float]] = []
    rare = [0.0, 0.0]
    for token, prob in probs.items():
        if prob * total < 10:
            rare[0] += counts[token]
            rare[1] += prob * total
        else:
            cells.append((counts[token], prob * total))
    if rare[1] > 0:
        cells.append((rare[0], rare[1]))
    return sum((seen - wanted) ** 2 / wanted for seen, wanted in cells), len(cells) - 1


def agrees(counts: Counter[int], probs: dict[int, float], false_alarm: float = 1e-7) -> bool:
    chi_square, degrees = statistic(counts, probs)
    assert degrees >= 3
    assert sum(counts.values()) >= 500
    return chi_square < bound(degrees, false_alarm)


def row(model, context) -> dict[int, float]:
    made = warped(model.logits(context)[0], context)
    return dict(zip(made.ids.tolist(), made.probs.tolist(), strict=True))


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("law")
    target = Weights(tiny.write(folder / "target.gguf", seed=11))
    draft = Weights(tiny.write(folder / "draft.gguf", seed=12, like=11, noise=0.6))
    models = (
        LlamaModel(target, n_ctx=512, threads=1),
        LlamaModel(draft, n_ctx=512, max_rows=1, threads=1),
    )
    yield models
    for model in models:
        model.close()
    target.close()
    draft.close()


@pytest.fixture(scope="module")
def rounds(pair):
    """Rounds of two proposals behind one prompt."""
    target, draft = pair
    rng = np.random.default_rng(20)
    drafter = ModelDrafter(draft, target.n_vocab)
    return [
        next(speculative(target, drafter, list(PROMPT), lambda: 2, warped, rng))
        for _ in range(ROUNDS)
    ]


def ids(round_) -> tuple[int, ...]:
    return tuple(token.id for token in round_.tokens)


def test_the_pair_disagrees_enough_to_test_anything(rounds):
    accepted = Counter(round_.accepted for round_ in rounds)
    assert min(accepted[0], accepted[1], accepted[2]) > ROUNDS / 20


def test_the_first_token_has_the_law_of_the_target(pair, rounds):
    assert agrees(Counter(ids(round_)[0] for round_ in rounds), row(pair[0], PROMPT))


def test_the_token_after_a_rejection_has_the_law_of_the_residual(pair, rounds):
    target, draft = (row(model, PROMPT) for model in pair)
    excess = {token: max(p - draft.get(token, 0), 0) for token, p in target.items()}
    left = {token: p / sum(excess.values()) for token, p in excess.items() if p}
    assert agrees(Counter(ids(each)[0] for each in rounds if each.accepted == 0), left)


def test_the_extra_token_has_the_law_of_the_target(pair, rounds):
    full = [ids(round_) for round_ in rounds if round_.accepted == 2]
    path, _count = Counter(tokens[:2] for tokens in full).most_common(1)[0]
    counts = Counter(tokens[2] for tokens in full if tokens[:2] == path)
    assert agrees(counts, row(pair[0], [*PROMPT, *path]))


def test_the_second_token_has_the_law_of_the_target_whichever_way_it_came(pair, rounds):
    """A round that stopped before it is continued by one token of ArS."""
    target, rng = pair[0], np.random.default_rng(21)
    first = Counter(ids(round_)[0] for round_ in rounds).most_common(1)[0][0]
    seconds = Counter()
    for round_ in rounds:
        tokens = [*PROMPT, *ids(round_)]
        if tokens[len(PROMPT)] == first:
            if len(tokens) == len(PROMPT) + 1:
                next(autoregressive(target, tokens, warped, rng))
            seconds[tokens[len(PROMPT) + 1]] += 1
    assert agrees(seconds, row(target, [*PROMPT, first]))


def test_acceptance_is_the_overlap_of_the_rows(pair, rounds):
    target, draft = (row(model, PROMPT) for model in pair)
    overlap = sum(min(p, draft.get(token, 0)) for token, p in target.items())
    accepted = sum(round_.accepted > 0 for round_ in rounds)
    deviation = math.sqrt(ROUNDS * overlap * (1 - overlap))
    assert abs(accepted - ROUNDS * overlap) < 5.5 * deviation  # P < 4e-8


def test_wrong_laws_are_noticed(pair, rounds):
    """The same counts are far from the draft's law, and rejected positions from the target's."""
    target, draft = (row(model, PROMPT) for model in pair)
    firsts = Counter(ids(round_)[0] for round_ in rounds)
    everywhere = dict.fromkeys(target, 1e-09)
    assert not agrees(firsts, everywhere | draft, false_alarm=1e-12)
    rejected = Counter(ids(round_)[0] for round_ in rounds if round_.accepted == 0)
    assert not agrees(rejected, target, false_alarm=1e-12)
