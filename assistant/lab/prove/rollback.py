"""Whether what was taken back has left a trace in the KV cache."""

from collections.abc import Iterator, Sequence

import numpy as np

from assistant.lab.prove.batch_noise import gap
from assistant.lab.prove.events import Check
from assistant.lab.prove.pair import ProvedPair
from assistant.lab.prove.texts import DecodedText, emptied
from models.base import Logits, Model


def traces(
    pair: ProvedPair, text: DecodedText, widths: Sequence[int], noise: float
) -> Iterator[Check]:
    """Have wrong tokens read and taken back, and compare with a cache that never held them."""
    for width in widths:
        context = text.tokens[: text.begin - 1 + width]
        clean = _read(pair.target, context, width, wrong=())
        rows = [
            _read(pair.target, context, width, wrong)
            for wrong in (context[:width], [*reversed(context)][: 2 * width])
        ]
        identical = sum(np.array_equal(each, clean) for each in rows)
        largest = max(gap(each, clean) for each in rows)
        figures = {
            "rows": width * len(rows),
            "identical": width * identical,
            "largest": largest,
            "noise": noise,
        }
        what = f"{width} rows after wrong tokens were taken back"
        yield Check("rollback", what, largest <= noise, figures)


def _read(model: Model, context: Sequence[int], width: int, wrong: Sequence[int]) -> Logits:
    """Return the last rows of a context, behind which other tokens stood before."""
    before = context[:-width]
    emptied(model).logits(before, rows=0)
    if wrong:
        model.logits([*before, *wrong], rows=1)
        model.logits(before, rows=0)
    return model.logits(context, rows=width).copy()
