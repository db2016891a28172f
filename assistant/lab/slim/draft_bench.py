"""Measure drafts beside their target: what a step costs, how often a proposal is accepted."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assistant.chat.prompt_tokens import ChatTokens
from assistant.decoding.draw import draw
from assistant.decoding.lookahead.cost_measurement import in_turns
from assistant.decoding.lookahead.theory import tokens_along
from assistant.decoding.warp import Row, warp
from assistant.lab.opening import Opener
from assistant.request import Message, Sampling
from models.base import Logits, Model
from models.gguf import FileVocabulary, read_vocabulary
from models.mapping import Mapping
from models.native.model import NativeModel


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
            each.append(rows[i].overlap(Row(mapping.named(row.ids), row.probs)))
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


GREEDY = Sampling(temperature=0)
WIDTHS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class DraftFigures:
    """What was measured of a draft, and what follows for its target."""

    size: int  # bytes
    step: float  # of the draft, in evaluations of the target
    greedy: float  # acceptance rate of a proposal at temperature 0
    sampled: float  # and under the user's sampling
    forecast: SpeedForecast


class DraftBench:
    """Measures drafts of one target against a reference draft.

    The target is loaded only while this is made. A draft's step is timed in turns with that of the
    reference, which stays loaded, and so in evaluations of the target.
    """

    def __init__(
        self,
        target: Path,
        reference: NativeModel,
        sampling: Sampling,
        opener: Opener,
        questions: Sequence[str],
        length: int,
    ) -> None:
        self._samplings = (sampling, GREEDY)
        self._vocabulary: FileVocabulary = read_vocabulary(target)
        with opener.open(target) as model:
            vocab = model.weights.vocab
            chat = ChatTokens(vocab)
            self._passages: list[Passage] = [
                answered(
                    model,
                    chat.encode([Message("user", question)]),
                    length,
                    self._samplings,
                    vocab.stop_tokens,
                )
                for question in questions
            ]
            self._context = max((each.tokens for each in self._passages), key=len)
            self._reference = evaluation(reference, self._mapping(reference).known(self._context))
            verify = [evaluation(model, self._context, width) for width in WIDTHS]
            taken, *widths = in_turns([self._reference, *verify])
        self._step = taken / widths[0]
        self._verify = {n: each / widths[0] for n, each in zip(WIDTHS, widths, strict=True)}

    def measure(self, draft: NativeModel) -> DraftFigures:
        """Return the figures of a draft; raises `ModelError` when it does not serve the target."""
        mapping = self._mapping(draft)
        found = [overlaps(draft, mapping, each, self._samplings) for each in self._passages]
        sampled, greedy = ([each[i] for each in found] for i in range(2))
        own, reference = in_turns(
            [evaluation(draft, mapping.known(self._context)), self._reference]
        )
        step = self._step * own / reference
        return DraftFigures(
            draft.weights.path.stat().st_size,
            step,
            float(np.mean(np.concatenate(greedy))),
            float(np.mean(np.concatenate(sampled))),
            forecast(sampled, step, self._verify),
        )

    def _mapping(self, draft: NativeModel) -> Mapping:
        return Mapping.between(self._vocabulary, read_vocabulary(draft.weights.path))


def evaluation(model: NativeModel, tokens: Sequence[int], rows: int = 1) -> Callable[[], object]:
    """Return what evaluates the last `rows` of `tokens`, the others being cached already."""
    return lambda: model.logits(tokens, rows)
