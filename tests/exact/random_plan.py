"""A source and a plan with random decisions that are a function of the occasion."""

from collections.abc import Sequence
from random import Random
from typing import Any

from assistant.decoding.row import Row
from assistant.decoding.sources.draft import Offer, Rows, Run


class Parrot:
    """A source that copies: a run that is a function of the context, often none."""

    name = "parrot"

    def __init__(self, n_vocab: int, seed: int = 0) -> None:
        self._n_vocab, self._seed = n_vocab, seed

    def read(self, tokens: Sequence[int]) -> None:
        """Do nothing."""

    def offer(self, tokens: Sequence[int], budget: int) -> Run | None:
        """Offer a run or nothing."""
        random = Random(repr((self._seed, tuple(tokens))))
        length = random.randint(0, budget)
        run = tuple(random.randrange(self._n_vocab) for _ in range(length))
        return Run(self.name, run, tuple(random.randrange(3) for _ in run)) if run else None

    def row(self, tokens: Sequence[int], warp: Any) -> tuple[Row, int]:
        """Fail: it is never asked."""
        raise AssertionError("a run needs no row")


class Whims:
    """A plan with random decisions that are a function of all that it has seen."""

    def __init__(self, budget: int, *occasion: Any) -> None:
        self.budget = budget
        self._occasion = list(occasion)

    def next(self, offers: Sequence[Offer]) -> Offer | None:
        """Take any offer, as much of it as it likes, or none."""
        random = self._random(offers)
        offer = random.choice([*offers, *offers, None])
        if isinstance(offer, Run):
            offer = offer.first(random.randint(1, len(offer.tokens)))
        self.budget -= len(offer.tokens) if isinstance(offer, Run) else 1
        return offer

    def include(self, rows: Rows, bucket: int) -> bool:
        """Draw from most rows."""
        return self._random(bucket).random() < 0.8

    def _random(self, news: Any) -> Random:
        self._occasion.append(news)
        return Random(repr(self._occasion))
