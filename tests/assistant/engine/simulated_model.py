"""A model whose evaluations take a given time on a simulated clock."""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from assistant.decoding.model import Logits
from assistant.engine.profile import Profile
from models.base import common_prefix
from models.errors import Cancelled


class SimulatedModel:
    """Evaluate what the cache lacks in `kernel(tokens, depth)` seconds, and `noise()`."""

    n_vocab = 11
    busy_s = 0.0
    seconds_per_token: float | None = None
    rollback: int | None = None
    committed = 0

    def __init__(
        self,
        kernel: Callable[[int, int], float],
        *,
        conditions: str = "this file on this machine",
        can_roll_back: bool = True,
        max_rows: int = 32,
        n_ctx: int = 4096,
        noise: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.now = 0.0
        self.widths: list[int] = []
        self.conditions, self.can_roll_back = conditions, can_roll_back
        self.max_rows, self.n_ctx = max_rows, n_ctx
        self.stop_after: int | None = None
        self._kernel, self._noise = kernel, noise
        self._tokens: list[int] = []

    def clock(self) -> float:
        return self.now

    @property
    def cached_tokens(self) -> list[int]:
        return self._tokens

    def cached(self, tokens: Sequence[int]) -> int:
        return common_prefix(self._tokens, tokens)

    def logits(self, tokens: Sequence[int], rows: int = 1) -> Logits:
        assert rows <= min(self.max_rows, len(tokens))
        assert len(tokens) <= self.n_ctx
        depth = min(self.cached(tokens), len(tokens) - rows)
        width = len(tokens) - depth
        self._tokens = list(tokens)
        if width:
            self.widths.append(width)
            self.now += self._kernel(width, depth) + self._noise()
        if self.stop_after is not None and len(self.widths) > self.stop_after:
            raise Cancelled
        return np.zeros((rows, self.n_vocab), np.float32)


def prepared(
    target: Any,
    draft: Any = None,
    folder: Path | None = None,
    clock: Callable[[], float] = perf_counter,
) -> Profile:
    """Return the profile of models, which is measured unless a stored one is certain enough."""
    profile = Profile(target, draft.conditions if draft else None, folder, clock=clock)
    profile.draft = draft
    profile.prepare()
    return profile
