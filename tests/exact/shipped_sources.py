"""The product's draft sources over toys, alone and combined."""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from assistant.decoding.row import Row
from assistant.decoding.sources.draft import Cascade, Drafter, Source
from assistant.decoding.sources.edit import EditSource
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.sources.suffix import SuffixSource, TailSource
from assistant.engine.sources.ngram import NgramSource, Tables, build_tables
from tests.exact.exact_rows import keep_all, row_of
from tests.exact.toy import Toy
from tests.exact.toy_sources import modelled_by

START, SHORT_START = (0, 1, 2, 0, 1), (0, 1, 0, 0, 1)
"""Beginnings that repeat themselves, of three tokens and of two: there is something to copy."""
LEARNT = Tables(build_tables([(0, 1, 2, 2, 0, 1, 0), (1, 2, 2, 0, 1, 1)]))
PIECES = (b" x", b" y", b"\n")
OTHERS = Tables(build_tables([(2, 1, 0, 0, 2, 1, 0), (1, 0, 0, 1, 0, 0)]))


def by_counts(logits: Any, history: Sequence[int]) -> Row:
    """Warp the probabilities of toys, and the logarithms of counts: leave them as they are."""
    if np.asarray(logits).dtype == object:
        return keep_all(logits, history)
    counts = [Fraction(round(float(np.exp(logit)))) for logit in logits]
    return row_of([count / sum(counts) for count in counts])


def _model(n_vocab: int) -> ModelSource:
    return modelled_by(Toy(n_vocab, 77, "zeros"), n_vocab)


def _edit() -> EditSource:
    """Return a source whose old text the new one leaves and comes back to, by tokens of words."""

    def tokenize(text: str) -> list[int]:
        return [PIECES.index(part.encode()) for part in re.findall(" x| y|\n", text)]

    return EditSource(" x y\n x x y\n y x\n x y y x\n", 0, PIECES.__getitem__, tokenize)


def _infill() -> SuffixSource:
    """Return a source for a gap: the prompt's order is not that of the text that is continued."""
    source = SuffixSource((1, 0, 1, 1, 0, 1, 0, 0, 1, 0), len(START))
    source.name = "infill"
    return source


SOURCES: dict[str, Callable[[int], list[Source]]] = {
    "suffix": lambda n: [SuffixSource()],
    "infill": lambda n: [_infill()],
    "infill, model": lambda n: [_infill(), _model(n)],
    "edit": lambda n: [_edit()],
    "edit, model": lambda n: [_edit(), _model(n)],
    "ngram": lambda n: [NgramSource(n, LEARNT)],
    "model": lambda n: [_model(n)],
    "suffix, model": lambda n: [SuffixSource(), _model(n)],
    "suffix, tail": lambda n: [SuffixSource(), TailSource()],
    "tail, model": lambda n: [TailSource(), _model(n)],
    "tail, suffix, model": lambda n: [TailSource(), SuffixSource(), _model(n)],
    "suffix, ngram, model": lambda n: [SuffixSource(), NgramSource(n, LEARNT, OTHERS), _model(n)],
}
"""By the names of who may propose; each takes the size of the vocabulary."""


def cascade(names: str, n_vocab: int) -> Callable[[], Drafter]:
    """Return what makes a drafter of such sources, new ones each time: they remember."""
    return lambda: Cascade(*SOURCES[names](n_vocab))
