"""What draft sources would have proposed along an answer: recorded, and replayed.

Every place is looked at, not those alone that some lookahead happened to reach, so that any other
lookahead can be replayed.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from assistant.decoding.draw import Uniforms
from assistant.decoding.lookahead.policy import Control
from assistant.decoding.row import Row
from assistant.decoding.sources.draft import Rows, Source
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.warp import COLDEST, Warp, one_hot, warp, warped
from assistant.lab.bench.events import Judged, Profile
from assistant.request import Sampling
from models.base import Logits, Model
from models.errors import Cancelled
from models.mapping import Mapping
from models.prefix import shared

NO_PROPOSAL = -1


def profile(
    target: Model,
    sources: Sequence[Source],
    prompt: Sequence[int],
    answer: Sequence[int],
    sampling: Sampling,
    control: Control,
) -> Profile:
    """Return what `sources` propose at each place of an answer, and how likely it is accepted.

    Raises:
        Cancelled: it was stopped.
        ModelError: a model cannot continue.
    """
    tokens = [*prompt, *answer]
    found: dict[str, list[tuple[float, int]]] = {source.name: [] for source in sources}
    margins: list[int | None] = []
    rows = _rows(target, tokens, len(prompt), sampling)
    for place, row in enumerate(rows, start=len(prompt)):
        if control.cancel.raised:
            raise Cancelled
        margins.append(row.margin)
        for source in sources:
            found[source.name].append(_judge(source, tokens[:place], row, sampling))
    judged = {
        name: Judged(tuple(odds for odds, _ in places), tuple(seen for _, seen in places))
        for name, places in found.items()
    }
    return Profile(tuple(tokens), len(prompt), judged, tuple(margins))


def _judge(
    source: Source, context: list[int], target_row: Row, sampling: Sampling
) -> tuple[float, int]:
    """Return the overlap and the evidence of a proposal after `context`."""
    source.read(context)
    if source.offer(context, 1) is None:
        return NO_PROPOSAL, NO_PROPOSAL
    row, evidence = source.row(context, warped(sampling))
    return target_row.overlap(row), evidence


def _rows(target: Model, tokens: Sequence[int], start: int, sampling: Sampling) -> Iterator[Row]:
    """Yield the target's row of every place from `start` on."""
    is_cold = sampling.temperature < COLDEST  # then the answer tells it, whatever the width
    for first in range(start, len(tokens), target.max_rows):
        end = min(first + target.max_rows, len(tokens))
        logits = target.logits(tokens[: end - 1], rows=end - first).copy()
        for place, each in enumerate(logits, start=first):
            row = warp(each, sampling, tokens[:place])
            yield replace(one_hot(tokens[place]), margin=row.margin) if is_cold else row


WRONG = -1
"""A proposed token that is not the one that came."""


class ReplayedModel:
    """A model that computes nothing, and takes as long as `seconds` says for so many tokens."""

    n_ctx, n_vocab, max_rows, can_roll_back = sys.maxsize, 1, 32, True
    rollback: int | None = None
    decided = 0

    def __init__(self, seconds: Callable[[int], float], held: Sequence[int] = ()) -> None:
        self.busy_s = 0.0
        self._seconds, self._held = seconds, list(held)

    def cached(self, tokens: Sequence[int]) -> int:
        """Return how many leading tokens it has read."""
        return shared(self._held, tokens)

    def logits(self, tokens: Sequence[int], rows: int = 1, fillers: int = 0) -> Logits:
        """Read what is new; the rows say nothing."""
        if new := len(tokens) - min(self.cached(tokens), len(tokens) - rows):
            self.busy_s += self._seconds(new + fillers)
        self._held = list(tokens)
        return np.zeros((rows, self.n_vocab), np.float32)


class LoggedSource:
    """A source whose rows are those of a profile.

    Its proposal at a place is the token that came, with the probability of acceptance that was
    noted there, and else a wrong one. What it would have proposed after a wrong token is unknown:
    that counts as wrong as well, so its tail is never useful.
    """

    def __init__(self, name: str, judged: Judged, profile: Profile, rng: Uniforms) -> None:
        self.name = name
        self._judged, self._profile, self._rng = judged, profile, rng

    def odds(self, place: int) -> float:
        """Return how likely a proposal at a place is accepted; below 0 there is none."""
        return self._judged.overlaps[place - self._profile.start]

    def read(self, tokens: Sequence[int]) -> None:
        """Do nothing: the profile has it all."""

    def offer(self, tokens: Sequence[int], room: int) -> Rows | None:
        """Offer a row where the profile has one."""
        place = len(tokens)
        return (
            Rows(self.name) if place < len(self._profile.tokens) and self.odds(place) >= 0 else None
        )

    def row(self, tokens: Sequence[int], warp: Warp) -> tuple[Row, int]:
        """Return the one-hot row of what is proposed, and its evidence."""
        place, start = len(tokens), self._profile.start
        is_right = list(tokens[start:]) == [*self._profile.tokens[start:place]]
        comes = is_right and self._rng.random() < self.odds(place)
        token = self._profile.tokens[place] if comes else WRONG
        return one_hot(token), self._judged.evidence[place - start]


class LoggedModel(ModelSource):
    """A draft model that reads as the shipped one does, and says what was noted down."""

    def __init__(self, model: ReplayedModel, logged: LoggedSource) -> None:
        super().__init__(model, Mapping.by_number(model.n_vocab, model.n_vocab))
        self._logged = logged

    def offer(self, tokens: Sequence[int], room: int) -> Rows | None:
        """Offer a row where the profile has one."""
        return super().offer(tokens, room) if self._logged.offer(tokens, room) else None

    def row(self, tokens: Sequence[int], warp: Warp) -> tuple[Row, int]:
        """Read what is new, and return the row of the profile."""
        self._logits(self.seen(tokens))
        return self._logged.row(tokens, warp)
