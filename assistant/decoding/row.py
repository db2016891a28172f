"""A distribution over tokens."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.intp]
Probs = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A distribution over tokens that lists only the possible ones.

    `ids` ascend; `probs` are float64 and positive. Their sum is 1, or less for a proposal that may
    also end the draft (see `assistant.decoding.rules`). `margin` is the bucket of the model's
    confidence, from `assistant.decoding.warp.margin`; None if no model made the row.
    """

    ids: Ids
    probs: Probs
    margin: int | None = None

    def prob(self, token: int) -> float:
        """Return the probability of one token."""
        index = int(np.searchsorted(self.ids, token))
        is_listed = index < len(self.ids) and self.ids[index] == token
        return self.probs[index] if is_listed else 0

    def top(self, count: int) -> list[tuple[int, float]]:
        """Return the `count` most probable tokens and their probabilities, the best first."""
        if count == 0:
            return []
        likely = top_indices(self.probs, count)
        best = likely[np.argsort(-self.probs[likely], kind="stable")]
        return [(int(self.ids[i]), float(self.probs[i])) for i in best]

    def overlap(self, draft: "Row") -> float:
        """Return the probability that a proposal drawn from `draft` is accepted by this row.

        The sum of min(target, draft): Leviathan et al. 2023, corollary 3.6.
        """
        if len(draft.ids) == 1:
            return float(min(self.prob(int(draft.ids[0])), draft.probs[0]))
        return float(np.minimum(self.probs, draft.probs_of(self.ids)).sum())

    def probs_of(self, ids: Ids) -> Probs:
        """Return the probabilities of ascending `ids`."""
        if ids is self.ids:
            return self.probs
        if len(self.ids) == 0 or len(ids) == 0:
            return np.zeros(len(ids), self.probs.dtype)
        dense = np.zeros(max(self.ids[-1], ids[-1]) + 1, self.probs.dtype)
        dense[self.ids] = self.probs
        return dense[ids]


EMPTY = Row(np.empty(0, np.intp), np.empty(0))


def one_hot(token: int) -> Row:
    """Return the row that has all its mass on one token."""
    return Row(np.array([token]), np.ones(1))


@lru_cache(maxsize=4)
def all_ids(count: int) -> Ids:
    """Return the ids of a whole vocabulary, the same array each time."""
    ids = np.arange(count)
    ids.flags.writeable = False
    return ids


def top_indices(scores: npt.NDArray[np.floating], k: int) -> Ids:
    """Return the indices of the `k` highest scores, ascending; of equal ones, the first."""
    if k >= len(scores):
        return all_ids(len(scores))
    floor = _lower_bound(scores, k)
    # A forbidden token has minus infinity, and there may be fewer than k others.
    indices = np.flatnonzero(scores >= floor if floor > -np.inf else scores > floor)
    if len(indices) > k:
        best = np.argsort(-scores[indices], kind="stable")[:k]
        indices = indices[np.sort(best)]
    return indices


def _lower_bound(scores: npt.NDArray[np.floating], k: int) -> np.floating:
    """Return a lower bound of the k-th highest score, which few lower scores reach.

    The scores are laid out in many columns. The maxima of columns are scores of different tokens,
    so the k-th highest of them is at most the k-th highest score of all.
    """
    columns = max(1024, 8 * k)
    if rows := len(scores) // columns:
        scores = scores[: rows * columns].reshape(rows, columns).max(axis=0)
    floor: np.floating = np.partition(scores, -k)[-k]
    return floor
