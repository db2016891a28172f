"""A target that counts upwards, and a source that changes the mode while it is asked."""

from collections.abc import Sequence
from random import Random

import numpy as np

from assistant.decoding.lookahead.forecast import Reason
from assistant.decoding.model import Logits, Model
from assistant.decoding.sources.draft import Run
from assistant.decoding.sources.suffix import SuffixSource
from assistant.decoding.warp import warp_with
from assistant.engine.control import Control
from assistant.request import Mode, Sampling

KEYS: tuple[tuple[Mode, int | None], ...] = (
    ("auto", None), ("sps", 7), ("ars", None), ("sps", None), ("auto", 3),
)  # fmt: skip
CHOSEN = {Reason.CHOSEN: {3, 7}, Reason.ARS: {0}}
"""How many proposals these reasons may be given for."""


class ModeChanger(SuffixSource):
    """A source that changes mode and lookahead at random, as keys do, when it is asked."""

    def __init__(self, control: Control) -> None:
        super().__init__()
        self._control, self._rng = control, Random(1)

    def offer(self, tokens: Sequence[int], budget: int) -> Run | None:
        self._control.mode, self._control.lookahead = self._rng.choice(KEYS)
        return super().offer(tokens, budget)


class CountingTarget(Model):
    """A target that counts upwards and begins again at 50, so that copies are right."""

    n_ctx, n_vocab, max_rows = 4096, 50, 32

    def logits(self, tokens: Sequence[int], rows: int = 1) -> Logits:
        assert rows <= self.max_rows
        following: Logits = np.roll(20 * np.eye(self.n_vocab, dtype=np.float32), 1, axis=1)
        return following[tokens[-rows:]]


greedy = warp_with(Sampling(0))
