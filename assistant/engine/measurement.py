"""Measure what evaluations cost, each as a ratio to those of one token right beside it.

A machine changes from second to second, and a ratio hardly does: t(2) was 1.06 to 1.41 of a t(1)
from another second, and 1.17 to 1.29 of those before and after it, in the same time. A draft takes
turns with the target, as in a round: in a loop of its own it finds its weights in the caches.

Kernels for many tokens are others than those for few. Where one is wrong for a file, prompts are
misread and long drafts verified against the wrong rows; so each file is looked at once.
"""

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from time import perf_counter
from typing import NamedTuple, Protocol

import numpy as np

from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.model import Logits, Model, most_proposals
from assistant.engine.times import KEPT, Times

WIDTHS = (4, 2, 3, 8)
"""The target's widths that a first look is about, the most telling first."""
WIDER = (16, 32)
"""Those of long copies and forms: a first look measures them once, if nothing typical is known."""
READINGS = (2, 1, 8)
"""What a draft reads in a round: usually two tokens before its first row, and one before others."""
CATCHING_UP = 64  # tokens that tell how fast a draft reads more
NEEDED = (1, 4)
"""What has to be known, however long it takes: the draft's step, and the slope of the target."""
FIRST_LOOK_S = 6.0
"""Seconds after which a first look begins no further width. Of ten looks of two seconds, four had
all of t(2) to t(8) within 10 % of a minute's; of ten of six seconds, nine."""
DEEP = 1024  # tokens of context from which on attention takes enough time to matter
SHALLOW = 16  # tokens before those that are timed, where a model holds none
SETTLED = 0.025  # the relative error of a ratio that needs no further look
CLEAR = 0.1  # the one from which on the machine was too busy for figures that last
BUSY = 1.5
"""How many times as long one token took in looks than in an answer, if others were busy then."""
WIDE = 64
NARROW = 16
ERROR = 0.25
"""How far rows may be from each other on average, relative to their length. Rounding gave 0.02 to
0.11 (most in gemma-3-270m with llama.cpp), one wrong matrix 0.29 and more, wrong kernels for all
weights 0.4 to 1.1 (ik_llama.cpp 0.1.5 with Q4_1 and Q5_1)."""


class TimedModel(Model, Protocol):
    """A model that knows what its speed depends on."""

    @property
    def conditions(self) -> str:
        """The file, the library, the machine and the settings, as text."""

    @property
    def cached_tokens(self) -> Sequence[int]:
        """The tokens that its cache holds."""

    @property
    def seconds_per_token(self) -> float | None:
        """Seconds per token of reading a prompt; None before there was a long enough one."""


class Look(NamedTuple):
    """What is evaluated between two evaluations of one token of the target."""

    model: TimedModel
    times: Times
    tokens: int


class CostLooks:
    """Measure what a target and its draft take, a look at a time.

    Args:
        verify: what is known of the target.
        reading: the same of the draft, in evaluations of the target.
    """

    def __init__(
        self,
        target: TimedModel,
        draft: TimedModel | None,
        verify: Times,
        reading: Times,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.verify, self.reading = verify, reading
        self.target, self.draft, self._clock = target, draft, clock
        most = most_proposals(target) + 1
        widths = [n for n in WIDTHS if n <= most] or [most] * (most > 1)
        self._usual = [Look(target, verify, n) for n in widths]
        wider = {min(n, most) for n in WIDER} - {1, *widths}
        self._rare = [Look(target, verify, n) for n in sorted(wider)]
        if draft:
            steps = [Look(draft, reading, n) for n in READINGS]
            self._usual = [*self._usual[:1], *steps, *self._usual[1:]]
            self._rare.append(Look(draft, reading, CATCHING_UP))

    def first(self) -> None:
        """Look at what is not clear yet, for about `FIRST_LOOK_S`; at what is needed however long.

        Raises:
            Cancelled: it was stopped.
            ModelError: a model cannot evaluate.
        """
        deadline = self._clock() + FIRST_LOOK_S
        rare = [look for look in self._rare if not look.times.is_known(look.tokens)]
        looks = [*self._usual * 2, *rare, *self._usual * 3]
        unclear = [look for look in looks if self._uncertainty(look) >= CLEAR]
        self.verify.calm_s = self.reading.calm_s = 0.0

        def is_due(look: Look) -> bool:
            is_known = look.times.plain and look.times.is_known(look.tokens)
            is_needed = look.tokens in NEEDED and not is_known
            return is_needed or self._clock() < deadline

        self.take(filter(is_due, unclear))

    def again(self) -> bool:
        """Look once at what is least certain; say whether nothing needs another look.

        After a long text attention would count as well, and nothing is looked at.

        Raises:
            Cancelled: it was stopped; the caches hold what they held.
            ModelError: a model cannot evaluate.
        """
        if len(self.target.cached_tokens) >= DEEP:
            return True
        self.take([max(self._usual, key=self._uncertainty)])
        return max(map(self._uncertainty, self._usual)) < SETTLED

    @property
    def doubted_s(self) -> float:
        """From how few seconds of one token in an answer on there is doubt about the looks."""
        return (self.verify.calm_s or median(self.verify.plain or [0.0])) / BUSY

    def doubt(self, plain_s: float) -> None:
        """Take what one token took in an answer, which was far less than in the looks."""
        self.verify.calm_s = self.reading.calm_s = plain_s

    @property
    def is_clear(self) -> bool:
        """Whether the machine was calm enough for figures that last."""
        return max(map(self._uncertainty, self._usual), default=0.0) < CLEAR

    @property
    def seconds(self) -> tuple[dict[int, float], dict[int, float]]:
        """What the target and the draft take, by tokens; without a draft the second is empty."""
        return self.verify.seconds, self.reading.seconds if self.draft else {}

    @property
    def costs(self) -> Costs:
        """What rounds cost, by what was seen."""
        return Costs(*self.seconds)

    def take(self, looks: Iterable[Look]) -> None:
        """Take looks one after another, each between two evaluations of one token of the target.

        They come after what the caches hold, so that they hold it afterwards as well.

        Raises:
            Cancelled: it was stopped.
            ModelError: a model cannot evaluate.
        """
        models = filter(None, (self.target, self.draft))
        texts = {each: list(each.cached_tokens) or varied(SHALLOW, each.n_vocab) for each in models}
        before = self._seconds(self.target, texts[self.target], 1)
        self.verify.saw(1, 1.0, before)
        for look in looks:
            if len(texts[look.model]) + look.tokens > look.model.n_ctx:
                continue
            took = self._seconds(look.model, texts[look.model], look.tokens)
            after = self._seconds(self.target, texts[self.target], 1)
            plain_s = (before + after) / 2
            look.times.saw(look.tokens, took / plain_s, plain_s)
            before = after
        for model, text in texts.items():
            model.logits(text, rows=0)

    def _uncertainty(self, look: Look) -> float:
        return uncertainty(look.times, look.tokens)

    def _seconds(self, model: TimedModel, text: list[int], tokens: int) -> float:
        model.logits(text, rows=0)  # has it forget what comes after that
        longer = [*text, *varied(tokens, model.n_vocab)]
        started = self._clock()
        model.logits(longer, rows=min(tokens, model.max_rows))
        return self._clock() - started


def uncertainty(times: Times, tokens: int) -> float:
    """Return the error of what is believed; 0 where more looks would hardly tell more."""
    return 0.0 if len(times.ratios.get(tokens, ())) == KEPT else times.ratio(tokens)[1]


def varied(count: int, n_vocab: int) -> list[int]:
    """Return tokens that hardly repeat.

    A mixture of experts would evaluate the same token again with the same experts, for less.
    """
    return [(7919 * i + 1) % n_vocab for i in range(count)]


def error_of_wide_batches(model: Model, wide: int = WIDE, narrow: int = NARROW) -> float:
    """Return how far the rows of one batch of `wide` tokens are from those of narrow batches.

    It is the mean distance of two rows after the same token, relative to the length of the one from
    the narrow batch: 0 where they are equal, about 1.4 where they have nothing in common.

    Raises:
        Cancelled: it was stopped.
        ModelError: it cannot evaluate.
    """
    if model.n_ctx < 2 * narrow:
        return 0.0
    tokens = varied(min(wide, model.n_ctx) // narrow * narrow, model.n_vocab)
    ends = range(narrow, len(tokens) + 1, narrow)
    model.logits(tokens[1:2])  # has the cache forget all others
    together = _centred(model.logits(tokens, min(len(tokens), model.max_rows)))
    model.logits(tokens[1:2])
    rows = [_centred(model.logits(tokens[:end], min(narrow, model.max_rows))) for end in ends]
    apart = np.concatenate(rows)[-len(together) :]
    lengths = np.linalg.norm(apart, axis=1)
    return float(np.mean(np.linalg.norm(together - apart, axis=1) / np.maximum(lengths, 1e-9)))


def _centred(logits: Logits) -> Logits:
    """Return a copy of rows, each less its mean, which has no effect on probabilities."""
    centred: Logits = logits - logits.mean(axis=1, keepdims=True)
    return centred
