"""A model whose evaluations take a given time on a simulated clock."""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from assistant.decoding.model import Model
from assistant.engine.profile import Profile
from models.base import common_prefix_length
from models.errors import Cancelled


class SimulatedModel(Model):
    """Evaluate what the cache lacks in `kernel(tokens, depth)` seconds."""

    seconds_per_token: float | None = None
    has_all_cores = True
    n_vocab = 11

    def __init__(
        self,
        kernel: Callable[[int, int], float],
        *,
        conditions: str = "this file on this machine",
        max_rows: int = 32,
        n_ctx: int = 4096,
    ) -> None:
        self.now = 0.0
        self.widths: list[int] = []
        self.conditions, self.max_rows, self.n_ctx = conditions, max_rows, n_ctx
        self.stop_after: int | None = None
        self.cached_tokens: list[int] = []
        self._kernel = kernel

    def clock(self) -> float:
        return self.now

    def cached(self, tokens: Sequence[int]) -> int:
        return common_prefix_length(self.cached_tokens, tokens)

    def logits(self, tokens: Sequence[int], rows: int = 1) -> Any:
        assert rows <= min(self.max_rows, len(tokens))
        assert len(tokens) <= self.n_ctx
        depth = min(self.cached(tokens), len(tokens) - rows)
        width = len(tokens) - depth
        self.cached_tokens = list(tokens)
        if width:
            self.widths.append(width)
            took = self._kernel(width, depth)
            self.now += took
            self.busy_s += took
        if self.stop_after is not None and len(self.widths) > self.stop_after:
            raise Cancelled
        return self.rows_after(
            [tokens[:end] for end in range(len(tokens) - rows + 1, len(tokens) + 1)]
        )

    def rows_after(self, texts: Sequence[Sequence[int]]) -> Any:
        """Return the row that follows each of some texts."""
        return np.zeros((len(texts), self.n_vocab), np.float32)


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
