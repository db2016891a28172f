"""Models and draft sources that were noted down: what they would have proposed along an answer."""

import sys
from collections.abc import Callable, Sequence

import numpy as np

from assistant.decoding.draw import Uniforms
from assistant.decoding.row import Row
from assistant.decoding.sources.draft import Rows
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.warp import Warp, one_hot
from assistant.lab.bench.events import Judged, Profile
from models.base import Logits
from models.mapping import Mapping
from models.prefix import shared

WRONG = -1
"""A proposed token that is not the one that came."""


class ReplayedModel:
    """A model that computes nothing, and takes as long as `seconds` says for so many tokens."""

    n_ctx, n_vocab, max_rows, can_roll_back = sys.maxsize, 1, 32, True

    def __init__(self, seconds: Callable[[int], float], held: Sequence[int] = ()) -> None:
        self.busy_s = 0.0
        self._seconds, self._held = seconds, list(held)

    def cached(self, tokens: Sequence[int]) -> int:
        """Return how many leading tokens it has read."""
        return shared(self._held, tokens)

    def logits(self, tokens: Sequence[int], rows: int = 1) -> Logits:
        """Read what is new; the rows say nothing."""
        if new := len(tokens) - min(self.cached(tokens), len(tokens) - rows):
            self.busy_s += self._seconds(new)
        self._held = list(tokens)
        return np.zeros((rows, self.n_vocab), np.float32)


class LoggedSource:
    """A source whose rows are those of a profile.

    Its proposal at a place is the token that came, with the probability of acceptance that was
    noted there, and else a wrong one. What it would have said behind a wrong token nobody knows:
    that is wrong as well, so a tail of it is never of use.
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
