"""Properties of `warp`, `draw` and the rules for random logits, samplings, drafts and uniforms."""

import numpy as np
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from assistant.decoding.row import EMPTY, Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.rule import Rule, TokenRule, draw
from assistant.decoding.warp import COLDEST, penalise, warp
from assistant.request import Sampling
from tests.assistant.decoding.rules.fixed_uniforms import FixedUniforms, draft_of
from tests.patience import examples

LARGEST = float(np.finfo(np.float32).max)
FLOATS = st.floats(-LARGEST, LARGEST, width=32)
NUMBERS = st.one_of(
    st.sampled_from((0.0, -0.0, 1.0, 2.0, -1.0, -np.inf, LARGEST, -LARGEST, 1e-45, 30.0)),
    st.floats(-50, 50, width=32),
    FLOATS,
)
LOGITS = (
    st.lists(NUMBERS, min_size=1, max_size=40)
    .map(lambda numbers: np.array(numbers, np.float32))
    .filter(lambda logits: np.isfinite(logits.max()))  # others are refused where they are computed
)
SAMPLINGS = st.builds(
    Sampling,
    temperature=st.one_of(st.sampled_from((0, 1e-7, 1e-6, 0.7, 1, 100)), st.floats(0, 100)),
    top_k=st.integers(0, 45),
    top_p=st.floats(0, 1, exclude_min=True),
    min_p=st.floats(0, 1),
    repeat_penalty=st.floats(0.01, 100),
    repeat_window=st.integers(0, 9),
)
HISTORIES = st.lists(st.integers(0, 60), max_size=12)
CLOSE = 1e-3  # in units of the temperature: nearer scores may be equal after the exponential
ROUNDING = 1e-5


@settings(max_examples=examples(600))
@given(LOGITS, SAMPLINGS, HISTORIES)
@example(np.array([LARGEST, 1], np.float32), Sampling(repeat_penalty=0.01), [0])
@example(np.array([1, 1, 1], np.float32), Sampling(top_k=2, top_p=1), [])
@example(np.array([-LARGEST, 1e31], np.float32), Sampling(temperature=0), [])
@example(np.array([-LARGEST, 1], np.float32), Sampling(repeat_penalty=100), [0])
@example(np.zeros(3, np.float32), Sampling(1, 0, 1e-320), [])
@example(np.array([LARGEST, -LARGEST], np.float32), Sampling(temperature=100), [])
@example(np.array([LARGEST, -LARGEST], np.float32), Sampling(temperature=1e-6), [])
def test_a_row_is_a_distribution_over_the_best_tokens(logits, sampling, history):
    before = logits.copy()
    row = warp(logits, sampling, history)
    assert (logits == before).all()
    assert len(row.ids) == len(row.probs) >= 1
    assert (np.diff(row.ids) > 0).all()
    assert 0 <= row.ids[0] <= row.ids[-1] < len(logits)
    assert (row.probs > 0).all()
    assert abs(row.probs.sum() - 1) < 1e-9
    if sampling.top_k:
        assert len(row.ids) <= sampling.top_k
    assert (row.probs >= sampling.min_p * row.probs.max() * (1 - ROUNDING)).all()
    check_best(scores(logits, sampling, history), sampling, row)


def scores(logits, sampling, history):
    if sampling.repeat_penalty == 1 or not sampling.repeat_window:
        return logits
    return penalise(logits, history[-sampling.repeat_window :], sampling.repeat_penalty)


def check_best(logits, sampling, row):
    """Better tokens come before worse ones, and lower ids before higher ones among equals."""
    if sampling.temperature < COLDEST:
        assert row.ids.tolist() == [int(np.argmax(logits))]
        return
    kept = np.isin(np.arange(len(logits)), row.ids)
    assert np.isfinite(logits[kept]).all()
    exact = logits.astype(np.float64)
    assert (exact[~kept] <= exact[kept].min() + CLOSE * sampling.temperature).all()
    for score in np.unique(logits):
        assert (np.diff(kept[logits == score].astype(int)) <= 0).all()


def rows(masses, tokens: int = 8):
    """Rows over a few tokens, some of them empty."""

    def row(weights: list[float], mass: float) -> Row:
        probs = np.array(weights)
        ids = np.flatnonzero(probs)
        return Row(ids, probs[ids] / probs.sum() * mass) if len(ids) else EMPTY

    weights = st.lists(
        st.one_of(st.just(0.0), st.floats(1e-9, 1)), min_size=tokens, max_size=tokens
    )
    return st.builds(row, weights, masses)


DRAFTS = rows(st.one_of(st.just(1.0), st.floats(0.1, 1)))
TARGETS = rows(st.just(1.0)).filter(lambda row: len(row.ids))
UNIFORMS = st.one_of(
    st.sampled_from((0.0, 1 - 2**-53, 0.5)), st.floats(0, 1, exclude_max=True, allow_subnormal=True)
)


@settings(max_examples=examples(300))
@given(st.data(), st.integers(0, 2), st.integers(0, 5))
def test_every_rule_emits_only_tokens_that_the_target_allows(data, kind, n):
    """Whatever was proposed, accepted or not, every token out has target probability above 0."""
    drafts = data.draw(st.lists(DRAFTS, min_size=n, max_size=n))
    targets = data.draw(st.lists(TARGETS, min_size=n + 1, max_size=n + 1))
    tokens = data.draw(st.lists(st.integers(0, 7), min_size=n, max_size=n))
    uniforms = data.draw(st.lists(UNIFORMS, min_size=n + 1, max_size=n + 1))
    rng, unread = FixedUniforms(*uniforms), iter(targets)
    rules: tuple[Rule, ...] = TokenRule(rng), BlockRule(rng), CoupledRule(n)
    verdict = rules[kind].verify(draft_of(tokens, drafts, data.draw(DRAFTS)), unread, 3)
    assert 0 <= verdict.accepted <= n
    read = n + 1 - len([*unread])
    assert verdict.target_rows == tuple(targets[:read])
    assert read > verdict.accepted
    assert len(verdict.uniforms) == min(read, n)
    drawn = [each for each in verdict.uniforms if each is not None]
    assert sorted(drawn) == sorted(uniforms[: len(drawn)])
    assert len(rng.left) == n + 1 - len(drawn)
    for token, target in zip(tokens[: verdict.accepted], targets, strict=False):
        assert target.prob(token) > 0
    last = targets[verdict.accepted]
    assert (verdict.row.probs > 0).all()
    for uniform in uniforms:
        assert last.prob(draw(verdict.row, FixedUniforms(uniform))) > 0


@settings(max_examples=examples(300))
@given(TARGETS, st.integers(0, 7), UNIFORMS, st.sampled_from((TokenRule, BlockRule)))
def test_a_token_of_equal_draft_and_target_rows_is_accepted(target, token, uniform, kind):
    assume(target.prob(token) > 0)
    verdict = kind(FixedUniforms(uniform)).verify(draft_of([token], [target]), [target, target], 0)
    assert verdict.accepted == 1
    assert np.allclose(verdict.row.probs / verdict.row.probs.sum(), target.probs)


@settings(max_examples=examples(300))
@given(TARGETS, UNIFORMS, st.integers(0, 2**64), st.integers(0, 2**20))
def test_a_drawn_token_is_in_the_row(row, uniform, seed, position):
    assert draw(row, FixedUniforms(uniform)) in row.ids
    assert CoupledRule(seed).draw(row, position) in row.ids
