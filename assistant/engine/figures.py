"""The stats of an answer in progress: its counts, and its times."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from time import perf_counter

from assistant.decoding.loops import Round
from assistant.decoding.model import Model
from assistant.events import Origin, Stats, Tally, Token

Clock = Callable[[], float]
"""Returns seconds. The clock of a lane of a race stops while other lanes compute."""


class Figures:
    """Adds up the stats of an answer; its times are measured from the request on."""

    def __init__(
        self, stats: Stats, target: Model, draft: Model | None = None, clock: Clock = perf_counter
    ) -> None:
        self.stats = stats
        self._target, self._draft, self._clock = target, draft, clock
        self._requested_at = self._decoding_since = clock()
        self._busy = self._busy_s()

    def prepared(self, prompt_tokens: int, cached_tokens: int) -> None:
        """Note the length of the prompt, and how much of it is cached."""
        self.stats = replace(self.stats, prompt_tokens=prompt_tokens, cached_tokens=cached_tokens)

    def start_decoding(self) -> None:
        """Note that the prefill has ended: the time of decoding starts here."""
        self._decoding_since, self._busy = self._clock(), self._busy_s()
        self.stats = replace(self.stats, prefill_s=self._decoding_since - self._requested_at)

    def add_draft(self, draft: Model) -> None:
        """Count a draft model's time from now on."""
        self._draft, self._busy = draft, (self._busy[0], draft.busy_s)

    def _busy_s(self) -> tuple[float, float]:
        return self._target.busy_s, self._draft.busy_s if self._draft else 0.0

    def add(
        self,
        round_: Round,
        tokens: Sequence[Token],
        thoughts: int,
        thinks: bool,
        masked: tuple[int, float],
    ) -> None:
        """Add a round.

        Args:
            round_: as it was decoded.
            tokens: those up to the end of the answer.
            thoughts: how many of them are thoughts.
            thinks: whether the next token is one.
            masked: rows that a constraint masked so far, and the seconds that this took.
        """
        stats, k = self.stats, round_.proposed
        tested = [(t.source or "", t.origin is Origin.DRAFT) for t in tokens[: round_.tested]]
        now = self._clock()
        decode_s = now - self._decoding_since
        verify_s, draft_s = (s - s0 for s, s0 in zip(self._busy_s(), self._busy, strict=True))
        guessing_s = decode_s - stats.decode_s if k else draft_s - stats.draft_s
        self.stats = replace(
            stats,
            rounds=stats.rounds + 1,
            drafted=stats.drafted + k,
            tested=stats.tested + len(tested),
            accepted=stats.accepted + sum(accepted for _, accepted in tested),
            generated_tokens=stats.generated_tokens + len(tokens),
            thought_tokens=stats.thought_tokens + thoughts,
            first_token_s=stats.first_token_s or now - self._requested_at,
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
