"""What the width of a batch does to the logits: the noise that limits every rule's exactness."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assistant.decoding.row import Row
from assistant.decoding.warp import warped
from assistant.lab.protocol import Check
from assistant.lab.prove.pair import DecodedText, ProvedPair, emptied
from models.base import Logits, Model


@dataclass(slots=True)
class WidthNoise:
    """How far rows of a width are from those of single tokens."""

    width: int
    rows: int = 0
    largest: float = 0.0  # difference of two logits
    flips: int = 0  # of the best token
    distance: float = 0.0  # total variation of the warped rows, summed

    def add(self, alone: Logits, batched: Logits, rows: tuple[Row, Row]) -> None:
        """Compare a row."""
        self.rows += 1
        self.largest = max(self.largest, gap(alone, batched))
        self.flips += bool(alone.argmax() != batched.argmax())
        self.distance += variation(*rows)

    @property
    def check(self) -> Check:
        """What is said of it."""
        figures = {
            "width": self.width,
            "rows": self.rows,
            "largest": self.largest,
            "flips": self.flips,
            "variation": self.distance / self.rows if self.rows else 0.0,
        }
        return Check("noise", f"batches of {self.width} beside single tokens", None, figures)


def measured(pair: ProvedPair, text: DecodedText, widths: Sequence[int]) -> Iterator[WidthNoise]:
    """Read a text that was decoded token by token again, in batches."""
    warp = warped(pair.warm)
    for width in widths:
        noise, target = WidthNoise(width), emptied(pair.target)
        target.logits(text.tokens[: text.begin - 1], rows=0)
        for start in range(text.begin, text.end - width + 1, width):
            rows = target.logits(text.tokens[: start + width - 1], rows=width)
            for i, batched in enumerate(rows):
                history = text.tokens[: start + i]
                alone = text.rows[start + i]
                noise.add(alone, batched, (warp(alone, history), warp(batched, history)))
        yield noise


def gap(one: Logits, other: Logits) -> float:
    """Return the largest difference between two rows; what is infinite in both is none."""
    with np.errstate(invalid="ignore"):
        differences = np.abs(one - other)
    return float(np.nanmax(differences)) if len(differences) else 0.0


def variation(one: Row, other: Row) -> float:
    """Return the total variation between two rows."""
    ids = np.union1d(one.ids, other.ids)
    return float(np.abs(one.probs_of(ids) - other.probs_of(ids)).sum()) / 2


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
        what = f"{width} rows after wrong tokens were rolled back"
        yield Check("rollback", what, largest <= noise, figures)


def _read(model: Model, context: Sequence[int], width: int, wrong: Sequence[int]) -> Logits:
    """Return the last rows of a context after which other tokens had been read."""
    before = context[:-width]
    emptied(model).logits(before, rows=0)
    if wrong:
        model.logits([*before, *wrong], rows=1)
        model.logits(before, rows=0)
    return model.logits(context, rows=width).copy()
