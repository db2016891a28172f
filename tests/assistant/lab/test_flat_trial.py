"""A flattened model beside its source: the formula, the text, and when it helps."""

from math import log

import numpy as np
import pytest

from assistant.lab.opening import Opener
from assistant.lab.slim.divergence import (
    LEAD_TOKENS,
    PASSAGES,
    Divergence,
    divergence,
    kl_divergence,
    passages,
)
from assistant.lab.slim.flat_trial import FlatFigures, measure
from assistant.lab.slim.sample_text import written_everywhere
from assistant.request import Setup
from models.cancel import CancelFlag


def test_divergence_of_rows_is_that_computed_by_hand():
    p, q = np.array([[0.5, 0.25, 0.25]] * 2), np.array([[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]])
    shift = np.array([[30.0], [-7.0]])  # of logits, which no distribution depends on
    found = kl_divergence((np.log(p) + shift).astype(np.float32), np.log(q).astype(np.float32))
    # 1/2 log 2 + 1/4 log 1 - 1/4 log 2; the other way round it is the same by symmetry.
    assert found == pytest.approx([0.25 * log(2), 0.0], abs=1e-6)
    other = kl_divergence(np.log([[0.9, 0.1]]), np.log([[0.5, 0.5]]))
    assert other == pytest.approx([0.9 * log(1.8) + 0.1 * log(0.2)])


def test_divergence_is_finite_where_a_token_is_all_but_impossible():
    (found,) = kl_divergence(np.array([[0.0, -1e4]]), np.array([[0.0, -2e4]]))
    assert found == 0.0


class Scripted:
    """A model whose logits follow from the length of the text alone."""

    max_rows = 32

    def __init__(self, odd: float) -> None:
        self.odd = odd
        self.asked: list[int] = []

    def logits(self, tokens, rows):
        ends = range(len(tokens) - rows + 1, len(tokens) + 1)
        self.asked += ends
        return np.log([[0.75, 0.25] if end % 4 else [1 - self.odd, self.odd] for end in ends])


def test_each_place_after_the_lead_is_compared_once():
    original, other = Scripted(0.25), Scripted(0.75)
    found = divergence(original, other, [range(LEAD_TOKENS + 100), range(LEAD_TOKENS + 100)])
    assert original.asked == other.asked == [*range(LEAD_TOKENS + 1, LEAD_TOKENS + 101)] * 2
    each = 0.5 * log(3)
    assert found == Divergence(200, pytest.approx(each / 4), pytest.approx(each), 0.75)


def test_a_model_is_at_no_distance_from_itself(tiny_target, open_model):
    first, second = open_model(tiny_target), open_model(tiny_target)
    texts = passages(first.weights.vocab, list(written_everywhere()))
    assert len(texts) == PASSAGES
    found = divergence(first, second, texts)
    assert (found.mean, found.p99, found.agreement) == (0.0, 0.0, 1.0)


def test_both_are_measured_at_every_width(tiny_target, tiny_draft):
    said: list[str] = []
    opener = Opener(Setup(tiny_target, threads=1), CancelFlag())
    figures = measure(tiny_target, tiny_draft, opener, said.append)
    assert len(said) == 3
    assert list(figures.verify) == [1, 2, 4, 8]
    assert min(min(both) for both in [*figures.verify.values(), figures.prefill]) > 0
    assert figures.divergence.mean > 0


def figures(*flat):
    source = (1.0, 2.0, 3.0, 6.0)
    verify = dict(zip((1, 2, 4, 8), zip(source, flat, strict=True), strict=True))
    return FlatFigures(verify, (1.0, 1.0), Divergence(1, 0.0, 0.0, 1.0))


def test_what_helps_is_faster_with_the_lookahead_that_is_best_for_it():
    assert not figures(1.0, 2.0, 3.0, 6.0).helps
    assert not figures(1.2, 1.9, 2.95, 4.9).helps  # narrow batches pay more than wide ones gain
    flat = figures(1.0, 1.1, 1.5, 3.0)
    assert flat.helps
    assert flat.plain == 1.0
    tokens = 1 + 0.8 + 0.8**2 + 0.8**3
    assert flat.speedup == pytest.approx((tokens / 1.5) / (1 / 1.0))
