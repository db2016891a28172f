"""What a model is: tokens in, logits out."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Logits = npt.NDArray[np.float32]


class DraftFailed(Exception):
    """A draft model cannot continue; the text says why in a sentence. The target can."""


class Model(Protocol):
    """Tokens in, logits out.

    A model keeps a KV cache, but only as a cache: the logits depend on the tokens given and on
    nothing evaluated before, up to floating-point differences between batch sizes. The defaults are
    those of a model without one.
    """

    n_ctx: int  # how many tokens fit
    n_vocab: int  # how many logits a row has
    max_rows: int  # how many rows one call may ask for
    can_roll_back: bool = True
    """Whether the last tokens can be removed from the cache. If not, speculation cannot pay."""
    rollback: int | None = None
    """How many tokens of the last evaluation can be removed at no cost; None: any number.

    To remove more, a model restores a checkpoint from before the evaluation, and recomputes the
    tokens that stay, together with the next ones. With 0, every rejection costs that.
    """
    committed: int = 0
    """How many of the first tokens will not be rolled back: a hint."""
    busy_s: float = 0.0  # seconds spent in `logits` so far

    def logits(self, tokens: Sequence[int], rows: int = 1) -> Logits:
        """Return the logits that follow each of the last `rows` tokens, shape (rows, n_vocab).

        Evaluates only what the cache lacks. The result is a view that the next call overwrites.
        What it raises ends a round before any token is appended.
        """

    def cached(self, tokens: Sequence[int]) -> int:
        """Return how many leading tokens the cache holds, or can be rolled back to."""
        return 0


def max_proposals(model: Model) -> int:
    """Return how many proposals a round may have: where some can be removed at no cost, those."""
    limit = model.max_rows - 1
    return min(limit, model.rollback) if model.rollback else limit
