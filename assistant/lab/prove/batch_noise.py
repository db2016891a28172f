"""What the width of a batch does to the logits: the noise that limits every rule's exactness.

An engine whose kernels for wide batches are wrong shows here as well, by much more than noise.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from assistant.decoding.model import Model
from assistant.engine.batch_check import ERROR, NARROW, WIDE, error_of_wide_batches
from assistant.lab.protocol import Check
from assistant.lab.prove.pair import DecodedText, emptied
from models.base import Logits

MISREAD = "the engine computes wrong logits in wide batches"


def checks(target: Model, text: DecodedText, widths: Sequence[int]) -> Iterator[Check]:
    """Read what was decoded token by token again, in batches; and a prompt in one and in many."""
    for width in widths:
        emptied(target).logits(text.tokens[: text.begin - 1], rows=0)
        found = list[tuple[float, float]]()
        for start in range(text.begin, len(text.tokens) - width + 1, width):
            rows = target.logits(text.tokens[: start + width - 1], rows=width)
            alone = [text.rows[start + i] for i in range(width)]
            found += ((gap(*both), _error(*both)) for both in zip(alone, rows, strict=True))
        largest, errors = zip(*found, strict=True)
        figures = {"rows": len(found), "largest difference": max(largest)}
        yield _judged(f"batches of {width} beside single tokens", float(np.mean(errors)), figures)
    what = f"a prompt of {WIDE} tokens in one batch beside batches of {NARROW}"
    yield _judged(what, error_of_wide_batches(target), {})


def _judged(what: str, error: float, figures: dict[str, float]) -> Check:
    figures = {**figures, "relative error": error}
    return Check("noise", what, error < ERROR, figures, note="" if error < ERROR else MISREAD)


def gap(one: Logits, other: Logits) -> float:
    """Return the largest difference between two rows; what is infinite in both is none."""
    with np.errstate(invalid="ignore"):
        return float(np.nanmax(np.abs(one - other)))


def _error(one: Logits, other: Logits) -> float:
    """Return the length of the difference over that of the row, less what all logits share."""
    finite = np.isfinite(one) & np.isfinite(other)
    length = float(np.linalg.norm(one[finite] - one[finite].mean()))
    return float(np.linalg.norm((other - one)[finite])) / (length or 1.0)
