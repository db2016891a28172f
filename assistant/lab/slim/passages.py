"""What a target says, how often a draft is right about it, and how much faster that makes it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assistant.decoding.draw import draw
from assistant.decoding.lookahead.theory import tokens_along
from assistant.decoding.warp import Row, warp
from assistant.request import Sampling
from models.base import Logits, Model
from models.mapping import Mapping


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A prompt and an answer, and for each token of the answer its row under each sampling."""

    tokens: tuple[int, ...]
    rows: tuple[tuple[Row, ...], ...]  # by sampling, then by position

    @property
    def start(self) -> int:
        """How many tokens the prompt has."""
        return len(self.tokens) - len(self.rows[0])


def answered(
    target: Model,
    prompt: Sequence[int],
    length: int,
    samplings: Sequence[Sampling],
    stop_tokens: frozenset[int],
) -> Passage:
    """Return an answer of at most `length` tokens, drawn under the first of `samplings`."""
    rng = np.random.default_rng(len(prompt))  # the same passage each time
    tokens, rows = list(prompt), list[tuple[Row, ...]]()
    while len(rows) < length and (not rows or tokens[-1] not in stop_tokens):
        logits = target.logits(tokens)[0]
        rows.append(tuple(warp(logits, sampling, tokens) for sampling in samplings))
        tokens.append(draw(rows[-1][0], rng))
    return Passage(tuple(tokens), tuple(zip(*rows, strict=True)))


def overlaps(
    draft: Model, mapping: Mapping, passage: Passage, samplings: Sequence[Sampling]
) -> tuple[list[float], ...]:
    """Return for each sampling the probabilities that a proposal is accepted, by position.

    Leviathan et al. 2023, theorem 3.5: the sum over tokens of min(target, draft).
    """
    found: tuple[list[float], ...] = tuple([] for _ in samplings)
    for i, logits in enumerate(_rows(draft, mapping, passage)):
        history = mapping.places(passage.tokens[: passage.start + i])
        for sampling, rows, each in zip(samplings, passage.rows, found, strict=True):
            row = warp(mapping.shared(logits), sampling, history)
            row = Row(mapping.named(row.ids), row.probs)
            each.append(float(np.minimum(rows[i].probs, row.probs_of(rows[i].ids)).sum()))
    return found


def _rows(draft: Model, mapping: Mapping, passage: Passage) -> Iterator[Logits]:
    """Yield what the draft computes for each position of the answer, many at a time."""
    known = mapping.known(passage.tokens[:-1])
    lengths = [
        len(mapping.known(passage.tokens[:i])) for i in range(passage.start, len(passage.tokens))
    ]
    done = 0
    while done < len(lengths):
        first = lengths[done]
        part = [n for n in lengths[done:] if n - first < draft.max_rows]
        logits = draft.logits(known[: part[-1]], rows=part[-1] - first + 1)
        yield from (logits[n - first] for n in part)
        done += len(part)


@dataclass(frozen=True, slots=True)
class SpeedForecast:
    """Tokens per second as a multiple of those of ArS, each passage at the lookahead best for it.

    That is what mode auto comes to, which proposes nothing where nothing is gained.
    """

    speedup: float
    lookaheads: tuple[int, ...]  # by passage; 0 where it is not used


def expected_tokens(overlaps: Sequence[float], k: int) -> float:
    """Return the expected tokens of a round that proposes `k`, beginning anywhere in a passage.

    Acceptance comes in stretches, so the product is taken along the text and not of an average.
    """
    starts = range(max(1, len(overlaps) - k + 1))
    return float(np.mean([tokens_along(overlaps[start : start + k]) for start in starts]))


def forecast(
    passages: Sequence[Sequence[float]], step: float, verify: dict[int, float]
) -> SpeedForecast:
    """Return the forecast for a draft whose step takes `step` evaluations of the target.

    `passages` are the probabilities of acceptance, by position; `verify` is the cost of a batch by
    its width, in evaluations of one token: a round of k proposals costs k steps and a batch of
    k + 1.
    """
    costs = {width - 1: (width - 1) * step + cost for width, cost in verify.items()}
    best = [
        min((cost / expected_tokens(overlaps, k), k) for k, cost in costs.items())
        for overlaps in passages
    ]
    return SpeedForecast(1 / float(np.mean([cost for cost, _ in best])), tuple(k for _, k in best))
