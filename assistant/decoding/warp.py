"""Logit warping: from a model's logits to the distribution that is sampled.

One function makes every row: for ArS, for the target's side of a verification, and for the draft's.
Modified rejection is exact with respect to these rows, so each side may have its own warp, as long
as the row that a token was drawn from *is* the row that verifies it.
"""

from bisect import bisect
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from assistant.decoding.model import Logits
from assistant.decoding.row import Ids, Probs, Row, all_ids, one_hot, top_indices
from assistant.decoding.sampling import Sampling

Warp = Callable[[Logits, Sequence[int]], Row]
"""`warp` with its sampling chosen: logits and history in, row out."""

EDGES = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""Edges of the buckets of margins, in units of the logits."""
COLDEST = 1e-6  # below this temperature the best token has all the mass, except for rounding

_LARGEST = np.finfo(np.float32).max
_UNSEEN = 1e-3  # upper bound of the weight of all tokens that the first search leaves out


def warp(logits: Logits, sampling: Sampling, history: Sequence[int]) -> Row:
    """Return the distribution that `sampling` makes of a row of logits.

    `history` is every token before this position, the hypothetical ones of a draft included.
    Temperature 0 is the one-hot row of the best token, the lowest id among equals.
    """
    if sampling.repeat_penalty != 1 and sampling.repeat_window:
        logits = penalise(logits, history[-sampling.repeat_window :], sampling.repeat_penalty)
    if sampling.temperature < COLDEST:
        best = one_hot(int(np.argmax(logits)))
        return Row(best.ids, best.probs, margin(logits))
    if sampling.top_k:
        return _row(logits, top_indices(logits, sampling.top_k), 0.0, sampling)
    return _row(logits, *_plausible(logits, sampling), sampling)


def warp_with(sampling: Sampling) -> Warp:
    """Return `warp` with its sampling chosen."""
    return lambda logits, history: warp(logits, sampling, history)


def penalise(logits: Logits, recent: Sequence[int], penalty: float) -> Logits:
    """Return a copy in which the scores of `recent` tokens are lowered by the factor `penalty`.

    Keskar et al. 2019, "CTRL", section 4.1; negative scores are multiplied, as is usual.
    """
    logits = logits.copy()
    ids = np.unique(np.asarray([token for token in recent if token < len(logits)], np.intp))
    scores = logits[ids]
    with np.errstate(over="ignore"):
        penalised = np.where(scores > 0, scores / penalty, scores * penalty)
    # A score may not become infinite, but one that is minus infinity stays so.
    logits[ids] = np.where(np.isfinite(scores), np.clip(penalised, -_LARGEST, _LARGEST), scores)
    return logits


def nucleus(weights: Probs, top_p: float, unseen: float) -> npt.NDArray[np.bool_] | None:
    """Mark the smallest set of most probable tokens that has probability `top_p`.

    Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", equation 2. None: the set
    depends on further tokens with lower weights, which together weigh up to `unseen`.
    """
    total = weights.sum()
    # Tokens below this have at most 1 - top_p together, so none of them is needed: sort the others.
    likely = weights >= min((1 - top_p) * total / len(weights), weights.max())
    ordered = np.sort(weights[likely])[::-1]  # an argsort, and a stable one, takes 20 times as long
    low, high = np.searchsorted(
        np.cumsum(ordered), top_p * (total + np.array([0, unseen]))
    ).tolist()
    if unseen and not low == high < len(ordered):
        return None
    needed = ordered[: low + 1]
    chosen: npt.NDArray[np.bool_] = weights > needed[-1]
    equals = np.flatnonzero(weights == needed[-1])
    chosen[equals[: len(needed) - np.count_nonzero(chosen)]] = True
    return chosen


def _plausible(logits: Logits, sampling: Sampling) -> tuple[Ids, float]:
    """Return the tokens that may be chosen, and an upper bound of the others' weight."""
    if sampling.top_p == 1 and sampling.min_p == 0:
        return all_ids(len(logits)), 0.0
    lightest = sampling.min_p if sampling.top_p == 1 else _UNSEEN / len(logits)
    # Below the floor, a token weighs less than `lightest` by much more than float32 rounds.
    floor = float(logits.max()) + sampling.temperature * (np.log(lightest) - 1e-3)
    with np.errstate(over="ignore"):  # below the lowest number is minus infinity
        floor = np.nextafter(np.float32(max(floor, -float(_LARGEST))), np.float32(-np.inf))
    ids = np.flatnonzero(logits >= floor)
    return ids, lightest * (len(logits) - len(ids))


def _row(logits: Logits, ids: Ids, unseen: float, sampling: Sampling) -> Row:
    """Return the row of the tokens `ids`, the best ones; the best of them has weight 1.

    The other tokens weigh up to `unseen`, which matters only for the size of the nucleus.
    """
    # float32 is precise enough here, and halves the time of the exponential
    with np.errstate(over="ignore"):  # minus infinity has weight 0
        scores = logits[ids] if len(ids) < len(logits) else logits
        confidence = margin(scores if len(scores) > 1 else logits)
        scores = scores - scores.max()
        scores /= np.float32(sampling.temperature)
    weights = np.exp(scores, out=scores).astype(np.float64)
    if scores.min() == 0:
        ids, weights = _select(ids, weights, weights > 0)
    if sampling.top_p < 1:
        chosen = nucleus(weights, sampling.top_p, unseen)
        if chosen is None:
            return _row(logits, all_ids(len(logits)), 0.0, sampling)
        ids, weights = _select(ids, weights, chosen)
    if sampling.min_p > 0:
        ids, weights = _select(ids, weights, weights >= sampling.min_p * weights.max())
    weights /= weights.sum()
    return Row(ids, weights, confidence)


def _select(ids: Ids, weights: Probs, chosen: npt.NDArray[np.bool_]) -> tuple[Ids, Probs]:
    return ids[chosen], weights[chosen]


def margin(logits: Logits) -> int:
    """Return the bucket of the gap between the two best logits: 0 is a tie, 9 is certain.

    Among cheap features it predicts acceptance best, and unlike a warped probability it does so at
    temperature 0 too.
    """
    best = int(logits.argmax())
    others = [part.max() for part in (logits[:best], logits[best + 1 :]) if len(part)]
    return bisect(EDGES, float(logits[best]) - float(max(others, default=logits[best])))
