"""The stats of an answer in progress."""

from collections.abc import Sequence
from dataclasses import replace

from assistant import events
from assistant.decoding.lookahead.plans import Clock
from assistant.decoding.loops import Round
from assistant.decoding.model import Model
from assistant.stats import Tally


class StatsBuilder:
    """Adds up the stats of an answer; its times are measured from the request on."""

    def __init__(
        self,
        stats: events.Stats,
        target: Model,
        draft: Model | None,
        clock: Clock,
        requested_at: float,
    ) -> None:
        self.stats = stats
        self._target, self._draft, self._clock = target, draft, clock
        self._requested_at = self._decoding_since = requested_at
        self._busy_before_s = self._busy_s()

    def start_decoding(self) -> None:
        """Note that the prefill has ended: the time of decoding starts here."""
        self._decoding_since, self._busy_before_s = self._clock(), self._busy_s()
        self.stats = replace(self.stats, prefill_s=self._decoding_since - self._requested_at)

    def add_draft(self, draft: Model) -> None:
        """Count a draft model's time from now on."""
        self._draft, self._busy_before_s = draft, (self._busy_before_s[0], draft.busy_s)

    def _busy_s(self) -> tuple[float, float]:
        return self._target.busy_s, self._draft.busy_s if self._draft else 0.0

    def add(
        self,
        round_: Round,
        tokens: Sequence[events.Token],  # those up to the end of the answer
        thought_tokens: int,  # how many of them belong to a thought
        is_thinking: bool,  # whether the next token belongs to one
        masked: tuple[int, float],  # rows that a constraint masked so far, and the seconds for that
        recomputed: float,  # as in `Forecast`
    ) -> None:
        """Add a round."""
        stats, k, now = self.stats, round_.proposed, self._clock()
        origins = [(token.source or "", token.origin) for token in tokens[: round_.tested]]
        tests = [(source, Tally(1, origin is events.Origin.DRAFT)) for source, origin in origins]
        sources: dict[str, Tally] = {}
        for source, test in tests:
            sources[source] = sources.get(source, Tally()) + test
        decode_s = now - self._decoding_since
        round_s = decode_s - stats.decode_s
        busy = zip(self._busy_s(), self._busy_before_s, strict=True)
        verify_s, draft_s = (now_s - before_s for now_s, before_s in busy)
        added = events.Stats(
            stats.mode,
            rounds=1,
            drafted=k,
            tested=len(tests),
            accepted=sum(test.accepted for _, test in tests),
            generated_tokens=len(tokens),
            thought_tokens=thought_tokens,
            lookahead_counts={k: 1},
            guessing_s=round_s if k else draft_s - stats.draft_s + recomputed * round_s,
            positions=tuple(test for _, test in tests),
            sources=sources,
        )
        self.stats = replace(
            stats.plus(added),
            first_token_s=stats.first_token_s or now - self._requested_at,
            decode_s=decode_s,
            thought_s=decode_s if thought_tokens or is_thinking else stats.thought_s,
            draft_s=draft_s,
            verify_s=verify_s,
            masked_rows=masked[0],
            mask_s=masked[1],
        )
