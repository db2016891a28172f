"""Logit warping: from a model's logits to the distribution that is sampled.

One function makes every row, for ArS, for the target's side of a verification and for the draft's.
Modified rejection is exact with respect to these rows, so each side may be warped as it likes as
long as the row a token was drawn from *is* the row that verifies it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assistant.request import Sampling as Sampling
from models.base import Logits

Ids = npt.NDArray[np.intp]
Probs = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A distribution over tokens, in which only what is possible is listed.

    `ids` ascend; `probs` are float64 and positive. Their sum is 1, or less for a proposal that may
    also end the draft (see `assistant.verify`).
    """

    ids: Ids
    probs: Probs

    def prob(self, token: int) -> float:
        """Return the probability of one token."""
        index = int(np.searchsorted(self.ids, token))
        found = index < len(self.ids) and self.ids[index] == token
        return self.probs[index] if found else 0

    def top(self, count: int) -> list[tuple[int, float]]:
        """Return the `count` most probable tokens and their probabilities, the best first."""
        if count == 0:
            return []
        likely = np.arange(len(self.ids))
        if len(likely) > 8 * count:  # sorting a whole vocabulary takes 12 ms
            likely = np.argpartition(self.probs, -count)[-count:]
        best = likely[np.argsort(-self.probs[likely], kind="stable")[:count]]
        return [(int(self.ids[i]), float(self.probs[i])) for i in best]

    def probs_of(self, ids: Ids) -> Probs:
        """Return the probabilities of ascending `ids`."""
        if len(self.ids) == 0 or len(ids) == 0:
            return np.zeros(len(ids), self.probs.dtype)
        dense = np.zeros(max(self.ids[-1], ids[-1]) + 1, self.probs.dtype)
        dense[self.ids] = self.probs
        return dense[ids]


Warp = Callable[[Logits, Sequence[int]], Row]
"""`warp` with its sampling chosen: logits and history in, row out."""

COLDEST = 1e-6  # below this temperature the best token has it all, but for rounding

_LARGEST = np.finfo(np.float32).max

EMPTY = Row(np.empty(0, np.intp), np.empty(0))


def one_hot(token: int) -> Row:
    """Return the row that has all its mass on one token."""
    return Row(np.array([token]), np.ones(1))


def warp(logits: Logits, sampling: Sampling, history: Sequence[int]) -> Row:
    """Return the distribution that `sampling` makes of a row of logits.

    `history` is every token before this position, the hypothetical ones of a draft included.
    Temperature 0 is the one-hot row of the best token, the lowest id among equals.
    """
    if sampling.repeat_penalty != 1 and sampling.repeat_window:
        logits = penalise(logits, history[-sampling.repeat_window :], sampling.repeat_penalty)
    if sampling.temperature < COLDEST:
        return one_hot(int(np.argmax(logits)))
    ids = top_k(logits, sampling.top_k)
    with np.errstate(over="ignore"):  # to minus infinity, whose weight is 0
        scores = (logits[ids] - logits.max()) / np.float32(sampling.temperature)
    # float32 loses nothing here that matters, and halves the time of the exponential
    weights = np.exp(scores).astype(np.float64)
    ids, weights = _keep(ids, weights, weights > 0)
    if sampling.top_p < 1:
        ids, weights = _keep(ids, weights, nucleus(weights / weights.sum(), sampling.top_p))
    if sampling.min_p > 0:
        ids, weights = _keep(ids, weights, weights >= sampling.min_p * weights.max())
    return Row(ids, weights / weights.sum())


def penalise(logits: Logits, recent: Sequence[int], penalty: float) -> Logits:
    """Return a copy in which the scores of `recent` tokens are divided by `penalty` towards less.

    Keskar et al. 2019, "CTRL", section 4.1, with negative scores multiplied, as everybody does.
    """
    logits = logits.copy()
    ids = np.unique(np.asarray([token for token in recent if token < len(logits)], np.intp))
    scores = logits[ids]
    with np.errstate(over="ignore"):
        penalised = np.where(scores > 0, scores / penalty, scores * penalty)
    # Infinity would be no score any more, but what was minus infinity cannot be.
    logits[ids] = np.where(np.isfinite(scores), np.clip(penalised, -_LARGEST, _LARGEST), scores)
    return logits


def top_k(logits: Logits, k: int) -> Ids:
    """Return the ids of the `k` highest logits, ascending; the lowest ids among equals."""
    if k == 0 or k >= len(logits):
        return np.arange(len(logits))
    threshold = np.partition(logits, -k)[-k]
    ids = np.flatnonzero(logits >= threshold)
    if len(ids) > k:  # equals at the threshold
        ids = np.sort(ids[np.argsort(-logits[ids], kind="stable")[:k]])
    return ids


def nucleus(probs: Probs, top_p: float) -> npt.NDArray[np.bool_]:
    """Mark the smallest set of most probable tokens that has probability `top_p`.

    Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", equation 2.
    """
    # Tokens below this have at most 1 - top_p together, so none of them is needed: sort the others.
    likely = np.flatnonzero(probs >= min((1 - top_p) / len(probs), probs.max()))
    order = likely[np.argsort(-probs[likely], kind="stable")]
    needed = int(np.searchsorted(np.cumsum(probs[order]), top_p)) + 1
    kept = np.zeros(len(probs), np.bool_)
    kept[order[:needed]] = True
    return kept


def _keep(ids: Ids, weights: Probs, kept: npt.NDArray[np.bool_]) -> tuple[Ids, Probs]:
    return ids[kept], weights[kept]
