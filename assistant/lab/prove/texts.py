"""Texts decoded by ArS and by SpS, with the rows that each token was drawn from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assistant.decoding.lookahead.policy import Fixed
from assistant.decoding.loops import Round, autoregressive, speculative
from assistant.decoding.rules.rule import Rule
from assistant.decoding.sources.cascade import Cascade
from assistant.lab.prove.pair import ProvedPair, warped
from assistant.request import Sampling
from models.base import Logits, Model


@dataclass(slots=True)
class DecodedText:
    """A prompt and what was decoded after it."""

    tokens: list[int]
    begin: int  # where the answer begins
    rows: dict[int, Logits] = field(default_factory=dict)  # of each place: what was drawn from
    batches: list[tuple[int, int, int]] = field(default_factory=list)
    """Of each evaluation: the place of its first row, how many rows, and how many were used."""
    accepted: int = 0
    proposed: int = 0

    @property
    def end(self) -> int:
        """How many tokens there are."""
        return len(self.tokens)

    def add(self, round_: Round, rows: Logits) -> None:
        """Note where a round's tokens, which are the last ones, were drawn from."""
        used = len(round_.tokens)
        start = self.end - used
        self.batches.append((start, len(rows), used))
        self.rows.update((start + i, rows[i]) for i in range(used))
        self.accepted += round_.accepted
        self.proposed += round_.proposed


class RecordingModel:
    """A model whose last rows are kept."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.rows: Logits = np.empty((0, 0), np.float32)

    def logits(self, tokens: Sequence[int], rows: int = 1) -> Logits:
        """Return what the model returns."""
        self.rows = self._model.logits(tokens, rows).copy()
        return self.rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def ars(
    pair: ProvedPair, prompt: Sequence[int], length: int, sampling: Sampling, rule: Rule
) -> DecodedText:
    """Decode by ArS, from an empty cache on."""
    text, target = begun(pair, prompt), RecordingModel(pair.target)
    loop = autoregressive(target, text.tokens, warped(sampling), rule)
    return _decoded(text, loop, target, length)


def sps(
    pair: ProvedPair, prompt: Sequence[int], length: int, sampling: Sampling, rule: Rule
) -> DecodedText:
    """Decode by SpS with the model's proposals, from an empty cache on."""
    text, target = begun(pair, prompt), RecordingModel(pair.target)
    loop = speculative(
        target,
        Cascade(pair.source),
        text.tokens,
        lambda: Fixed(pair.lookahead),
        warped(sampling),
        rule,
    )
    return _decoded(text, loop, target, length)


def emptied(model: Model) -> Model:
    """Return a model that has forgotten everything."""
    model.logits([0], rows=0)
    return model


def begun(pair: ProvedPair, prompt: Sequence[int]) -> DecodedText:
    """Return a text of which only the prompt has been read, but for its last token."""
    emptied(pair.target).logits(prompt[:-1], rows=0)
    return DecodedText(list(prompt), len(prompt))


def _decoded(
    text: DecodedText, loop: Iterator[Round], target: RecordingModel, length: int
) -> DecodedText:
    while text.end < text.begin + length:
        text.add(next(loop), target.rows)
    return text


def replayed(pair: ProvedPair, text: DecodedText) -> Iterator[tuple[int, Logits]]:
    """Yield each place and its row, computed anew in batches as wide as those of the text.

    What was proposed and rejected is not in them: after the text's own tokens comes a filler. So
    each row is the one that the target has by itself, in a batch of that width.
    """
    target, filler = emptied(pair.target), text.tokens[0]
    target.logits(text.tokens[: text.begin - 1], rows=0)
    for start, width, used in text.batches:
        known = text.tokens[: start + used - 1]
        context = [*known, *[filler] * (width - used)]
        rows = target.logits(context, rows=width)
        for i in range(used):
            yield start + i, rows[i]
