"""The figures of an answer under way: what it counts, and where its time goes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from time import perf_counter

from assistant.decoding.loops import Round
from assistant.decoding.model import Model
from assistant.events import Origin, Stats, Tally, Token

Clock = Callable[[], float]
"""Seconds from some moment on. A lane of a race has one that stands still while others compute."""


class Figures:
    """Add up the stats of an answer, and measure its times from the moment it is asked for."""

    def __init__(
        self, stats: Stats, target: Model, draft: Model | None = None, clock: Clock = perf_counter
    ) -> None:
        self.stats = stats
        self._target, self._draft, self._clock = target, draft, clock
        self._asked = self._begun = clock()
        self._busy = self._busy_s()

    def prepared(self, prompt_tokens: int, cached_tokens: int) -> None:
        """Note how long the prompt is, and how much of it need not be read."""
        self.stats = replace(self.stats, prompt_tokens=prompt_tokens, cached_tokens=cached_tokens)

    def begin(self) -> None:
        """Note that the prompt has been read: the time of decoding starts here."""
        self._begun, self._busy = self._clock(), self._busy_s()
        self.stats = replace(self.stats, prefill_s=self._begun - self._asked)

    def _busy_s(self) -> tuple[float, float]:
        return self._target.busy_s, self._draft.busy_s if self._draft else 0.0

    def add(
        self,
        round_: Round,
        taken: Sequence[Token],
        thoughts: int,
        thinks: bool,
        masked: tuple[int, float],
    ) -> None:
        """Add a round, of which the answer has taken some tokens.

        Args:
            round_: as it was decoded.
            taken: its tokens up to the end of the answer.
            thoughts: how many of those are thoughts.
            thinks: whether the next token is one.
            masked: rows that a form was laid over so far, and the seconds that this took.
        """
        stats, k = self.stats, round_.proposed
        tested = [(t.source or "", t.origin is Origin.DRAFT) for t in taken[: round_.tested]]
        now = self._clock()
        decode_s = now - self._begun
        verify_s, draft_s = (s - begun for s, begun in zip(self._busy_s(), self._busy, strict=True))
        guessing_s = decode_s - stats.decode_s if k else draft_s - stats.draft_s
        self.stats = replace(
            stats,
            rounds=stats.rounds + 1,
            drafted=stats.drafted + k,
            tested=stats.tested + len(tested),
            accepted=stats.accepted + sum(accepted for _, accepted in tested),
            generated_tokens=stats.generated_tokens + len(taken),
            thought_tokens=stats.thought_tokens + thoughts,
            first_token_s=stats.first_token_s or now - self._asked,
            decode_s=decode_s,
            thought_s=decode_s if thoughts or thinks else stats.thought_s,
            lookahead_counts={**stats.lookahead_counts, k: stats.lookahead_counts.get(k, 0) + 1},
            draft_s=draft_s,
            verify_s=verify_s,
            guessing_s=stats.guessing_s + guessing_s,
            positions=tuple(
                (tally or Tally()).plus(test and test[1])
                for tally, test in zip_longest(stats.positions, tested)
            ),
            sources=_by_source(stats.sources, tested),
            masked_rows=masked[0],
            mask_s=masked[1],
        )


def _by_source(
    tallies: Mapping[str, Tally], tested: Iterable[tuple[str, bool]]
) -> dict[str, Tally]:
    result = dict(tallies)
    for source, accepted in tested:
        result[source] = result.get(source, Tally()).plus(accepted)
    return result
