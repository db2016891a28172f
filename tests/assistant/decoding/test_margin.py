"""How sure a model is, as a class."""

import numpy as np

from assistant.decoding.warp import EDGES, margin, warp
from assistant.request import Sampling


def test_margin_is_how_far_the_best_is_ahead():
    logits = np.zeros(50, np.float32)
    assert margin(logits) == 0
    for i, edge in enumerate(EDGES):
        logits[17] = edge
        assert margin(logits) == i + 1
    logits[0] = logits[17]
    assert margin(logits) == 0
    assert margin(np.array([3.0], np.float32)) == 0


def test_row_tells_how_sure_the_model_was_whatever_the_sampling():
    logits = np.zeros(50, np.float32)
    logits[17] = 2.6
    for sampling in (Sampling(0), Sampling(3.0), Sampling(1.0, top_k=1), Sampling(1.0, top_p=0.5)):
        assert warp(logits, sampling, []).margin == margin(logits) == 5
    assert warp(logits, Sampling(0, repeat_penalty=4.0), [17]).margin == 2  # a gap of 0.65
    assert warp(logits, Sampling(1.0, repeat_penalty=4.0), [17]).margin == 2
