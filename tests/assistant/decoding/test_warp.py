"""`warp`: compared with a slow and obvious reference, and at its edge cases."""

import itertools
import math

import numpy as np
import pytest

from assistant.decoding.row import EMPTY, Row, one_hot, top_indices
from assistant.decoding.warp import EDGES, margin, warp
from assistant.request import Sampling


def reference(logits, sampling, history=()):
    """Return the row by the definitions, in Python floats, as a dict."""
    scores = {token: float(score) for token, score in enumerate(logits)}
    if sampling.repeat_penalty != 1 and sampling.repeat_window:
        for token in set(history[-sampling.repeat_window :]):
            score = scores[token]
            penalty = sampling.repeat_penalty
            scores[token] = score / penalty if score > 0 else score * penalty
    order = sorted(scores, key=lambda token: (-scores[token], token))
    if sampling.temperature == 0:
        return {order[0]: 1.0}
    if sampling.top_k:
        order = order[: sampling.top_k]
    best = scores[order[0]]
    weights = {token: math.exp((scores[token] - best) / sampling.temperature) for token in order}
    total = sum(weights.values())
    if sampling.top_p < 1:
        kept, mass = [], 0.0
        for token in order:
            kept.append(token)
            mass += weights[token]
            if mass >= sampling.top_p * total:
                break
        order = kept
    order = [token for token in order if weights[token] >= sampling.min_p * weights[order[0]]]
    order = [token for token in order if weights[token] > 0]
    total = sum(weights[token] for token in order)
    return {token: weights[token] / total for token in sorted(order)}


COMBINATIONS = list(
    itertools.product((0, 1e-6, 0.2, 2, 100), (0, 1, 5, 40, 64), (0.01, 0.5, 0.9, 1), (0, 0.1, 1))
)


@pytest.mark.parametrize("penalty", [1, 1.3, 0.7])
def test_rows_equal_the_reference(penalty):
    rng = np.random.default_rng(7)
    for temperature, k, p, min_p in COMBINATIONS:
        logits = (4 * rng.standard_normal(64)).astype(np.float32)
        history = [int(token) for token in rng.integers(0, 64, 20)]
        sampling = Sampling(temperature, k, p, min_p, penalty, 8)
        row = warp(logits, sampling, history)
        expected = reference(logits, sampling, history)
        assert list(row.ids) == list(expected), sampling
        assert row.probs.dtype == np.float64
        np.testing.assert_allclose(row.probs, list(expected.values()), atol=2e-6)


LARGE = 6_000  # tokens: enough for every short cut


@pytest.mark.parametrize("spread", [0, 1, 4])
@pytest.mark.parametrize("grain", [0, 0.5, 4])
def test_rows_of_a_large_vocabulary_equal_the_reference(spread, grain):
    rng = np.random.default_rng(9)
    logits = (spread * rng.standard_normal(LARGE)).astype(np.float32)
    if grain:  # equals everywhere
        logits = (logits // np.float32(grain) * np.float32(grain)).astype(np.float32)
    for temperature, k, p, min_p in itertools.product(
        (0.5, 5), (0, 40, 700), (0.3, 0.987, 1), (0, 0.05)
    ):
        sampling = Sampling(temperature, k, p, min_p)
        row, expected = warp(logits, sampling, []), reference(logits, sampling)
        assert list(row.ids) == list(expected), sampling
        np.testing.assert_allclose(row.probs, list(expected.values()), 1e-4, 1e-30)


def test_the_highest_logits_are_found_wherever_they_are():
    rng = np.random.default_rng(10)
    for _ in range(200):
        size, k = int(rng.integers(1, 20_000)), int(rng.integers(1, 300))
        logits = rng.integers(0, rng.integers(1, 4_000), size).astype(np.float32)
        if rng.random() < 0.3:  # all in one place
            logits[: min(size, 2 * k)] += 9_000
        best = np.sort(np.argsort(-logits, kind="stable")[:k])
        assert top_indices(logits, k).tolist() == best.tolist()


def test_tokens_of_tiny_probability_count_for_the_nucleus():
    # Below the floor are 100,000 tokens that together weigh a ten-thousandth of the best.
    rest = np.full(100_000, np.log(1e-9), np.float32)
    logits = np.concatenate([np.array([0], np.float32), rest])
    inside = 1 / (1 + 1e-4)
    assert list(warp(logits, Sampling(1, 0, inside - 1e-6), []).ids) == [0]
    for top_p in (inside + 1e-6, 0.99999):
        needed = math.ceil((top_p * (1 + 1e-4) - 1) / 1e-9)
        row = warp(logits, Sampling(1, 0, top_p), [])
        assert len(row.ids) == pytest.approx(1 + needed, rel=1e-3)
        assert row.ids.tolist() == list(range(len(row.ids)))


def test_rows_of_a_whole_vocabulary_share_their_ids():
    logits = np.arange(5, dtype=np.float32)
    a, b = (warp(logits, Sampling(temperature, 0, 1), []) for temperature in (1, 2))
    assert a.ids is b.ids
    assert a.probs_of(b.ids) is a.probs
    with pytest.raises(ValueError, match="read-only"):
        a.ids[0] = 3


@pytest.mark.parametrize("penalty", [1, 1.5])
def test_minus_infinity_is_a_token_that_cannot_be(penalty):
    logits = np.array([0, -np.inf, 1, -np.inf], np.float32)
    for k in (0, 3):
        row = warp(logits, Sampling(1, k, 1, repeat_penalty=penalty), [1, 2])
        assert list(row.ids) == [0, 2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1), ("temperature", math.nan), ("temperature", 1e308),
        ("temperature", math.inf), ("top_k", -1), ("top_p", 0), ("top_p", 1.1), ("top_p", math.nan),
        ("min_p", -1), ("min_p", 1.01), ("repeat_penalty", 0), ("repeat_penalty", 1e-300),
        ("repeat_penalty", 1e300), ("repeat_window", -1),
    ],
)  # fmt: skip
def test_settings_that_are_invalid_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        Sampling(**{name: value})


def test_a_row_knows_the_probability_of_any_token():
    row = Row(np.array([2, 5]), np.array([0.25, 0.75]))
    assert [row.prob(token) for token in (0, 2, 3, 5, 6)] == [0, 0.25, 0, 0.75, 0]
    assert list(row.probs_of(np.array([0, 2, 5, 9]))) == [0, 0.25, 0.75, 0]
    assert list(row.probs_of(np.array([2]))) == [0.25]
    assert list(EMPTY.probs_of(np.array([1, 2]))) == [0, 0]
    assert list(row.probs_of(np.array([], np.intp))) == []
    assert EMPTY.prob(3) == 0
    assert row.top(1) == [(5, 0.75)]
    assert row.top(3) == [(5, 0.75), (2, 0.25)]
    assert one_hot(4).prob(4) == 1


def test_the_margin_is_the_bucket_of_the_gap_between_the_best_two_logits():
    logits = np.zeros(50, np.float32)
    assert margin(logits) == 0
    for i, edge in enumerate(EDGES):
        logits[17] = edge
        assert margin(logits) == i + 1
    logits[0] = logits[17]
    assert margin(logits) == 0
    assert margin(np.array([3.0], np.float32)) == 0


def test_the_margin_of_a_row_does_not_depend_on_temperature_or_cuts():
    logits = np.zeros(50, np.float32)
    logits[17] = 2.6
    for sampling in (Sampling(0), Sampling(3.0), Sampling(1.0, top_k=1), Sampling(1.0, top_p=0.5)):
        assert warp(logits, sampling, []).margin == margin(logits) == 5
    assert warp(logits, Sampling(0, repeat_penalty=4.0), [17]).margin == 2  # a gap of 0.65
    assert warp(logits, Sampling(1.0, repeat_penalty=4.0), [17]).margin == 2
