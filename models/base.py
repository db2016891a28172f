"""Values that a language model takes and gives: tokens and logits."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Logits = npt.NDArray[np.float32]
Ids = npt.NDArray[np.intp]


def common_prefix_length(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many leading tokens two sequences have in common.

    Slices are compared, never tokens one by one: contexts are long, and every round needs this.
    """
    a, b = (tokens if isinstance(tokens, list) else list(tokens) for tokens in (a, b))
    same, differ = 0, min(len(a), len(b))
    if a[:differ] == b[:differ]:
        return differ
    while differ - same > 1:
        middle = (same + differ) // 2
        if a[same:middle] == b[same:middle]:
            same = middle
        else:
            differ = middle
    return same
