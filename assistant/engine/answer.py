"""The answer being decoded: where it ends, what it says and what it counts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from assistant.chat.answer_text import AnswerText
from assistant.chat.thought_reader import AnswerBeginning
from assistant.chat.token_text import TokenText
from assistant.decoding.loops import Round
from assistant.engine.provenance import Provenance
from assistant.engine.stopwatch import Stopwatch
from assistant.events import (
    CallDelta,
    Decoded,
    Finished,
    Forecast,
    Ghost,
    Origin,
    Stats,
    Stop,
    Tally,
    Token,
)
from assistant.request import Request
from models.native.vocab import Vocab

if TYPE_CHECKING:
    from assistant.forms.mask import FormMask  # whose library few answers need


class AnswerBuilder:
    """Collect rounds into an answer and notice where it ends.

    Args:
        request: limits its length, and says how many alternatives to report for each token.
        vocab: of the target.
        stopwatch: started when the request came.
        stats: with the figures that are known before decoding.
        text: divides its text; None if it can have neither thoughts nor calls.
        form: the form it must have, if any.
    """

    def __init__(
        self,
        request: Request,
        vocab: Vocab,
        stopwatch: Stopwatch,
        stats: Stats,
        text: AnswerText | None = None,
        form: FormMask | None = None,
    ) -> None:
        self.stop: Stop | None = None
        self.stats = stats
        self._max_tokens = request.max_tokens or sys.maxsize
        self._stop_tokens = vocab.stop_tokens
        plain = AnswerBeginning(TokenText(vocab.piece))
        self._text = text or AnswerText(plain, stops=request.stop_strings)
        self._form = form
        self._ids: list[int] = []
        self._provenance = Provenance(vocab, request.alternatives)
        self._stopwatch = stopwatch

    @property
    def tokens_left(self) -> int:
        """How many tokens the request still allows."""
        return self._max_tokens - self.stats.generated_tokens

    def begin(self) -> None:
        """Note that the prompt has been read: the time of decoding starts here."""
        self._stopwatch.begin()
        self.stats = replace(self.stats, prefill_s=self._stopwatch.prefill_s)

    def add(self, round_: Round, forecast: Forecast | None = None) -> Decoded:
        """Take the tokens of a round up to the end of the answer; return what the user sees."""
        shown: list[Token] = []
        taken: list[Token] = []
        thought = 0
        for sampled in round_.tokens:
            thought += self._text.thinks
            ends = sampled.id in self._stop_tokens
            text = "" if ends else self._text.complete(sampled.id)
            taken.append(self._provenance.token(sampled, text, len(taken)))
            shown += self._text.add(taken[-1])
            if not ends:
                self._ids.append(sampled.id)
            if ends or self._text.stopped:
                self.stop = Stop.STOP_TOKEN if ends else Stop.STOP_STRING
                break
        self._count(round_, taken, thought)
        self.stop = self.stop or self._limit()
        # What follows the end of the answer was never looked at.
        whole = len(taken) == len(round_.tokens)
        ghosts = self._provenance.ghosts(round_) if whole else ()
        return self._decoded(shown, ghosts, round_.proposed, forecast)

    def finish(self) -> Iterator[Decoded | Finished]:
        """Yield the text that was held back, if any, and the end of the answer."""
        if held := self._text.flush():
            yield self._decoded(held)
        text, thought = self._text.end()
        stop, calls = self.stop or Stop.CANCELLED, self._text.calls
        is_cut = stop is Stop.STOP_STRING
        yield Finished(
            text,
            () if is_cut else tuple(self._ids),  # the text was cut within a token
            stop,
            self.stats,
            complete=self._form is None or (not is_cut and self._form.is_complete),
            thought=thought,
            calls=calls.calls if calls else (),
        )

    def _limit(self) -> Stop | None:
        """Return why the answer ends without a stop token or string; None if it does not."""
        if self._form and self._form.is_over:
            return Stop.STOP_TOKEN
        return Stop.LENGTH if self.tokens_left <= 0 else None

    def _decoded(
        self,
        shown: Sequence[Token],
        ghosts: tuple[Ghost, ...] = (),
        lookahead: int = 0,
        forecast: Forecast | None = None,
    ) -> Decoded:
        used = self.stats.prompt_tokens + self.stats.generated_tokens
        calls: tuple[CallDelta, ...] = self._text.calls.take() if self._text.calls else ()
        return Decoded(tuple(shown), ghosts, lookahead, used, self.stats, forecast, calls)

    def _count(self, round_: Round, taken: Sequence[Token], thought: int) -> None:
        """Add the tokens taken from a round to the stats; `thought` of them were thoughts."""
        stats, k = self.stats, round_.proposed
        tested = [(t.source or "", t.origin is Origin.DRAFT) for t in taken[: round_.tested]]
        decode_s, draft_s = self._stopwatch.decode_s, self._stopwatch.draft_s
        guessing_s = decode_s - stats.decode_s if k else draft_s - stats.draft_s
        self.stats = replace(
            stats,
            rounds=stats.rounds + 1,
            drafted=stats.drafted + k,
            tested=stats.tested + len(tested),
            accepted=stats.accepted + sum(accepted for _, accepted in tested),
            generated_tokens=stats.generated_tokens + len(taken),
            thought_tokens=stats.thought_tokens + thought,
            first_token_s=stats.first_token_s or self._stopwatch.since_asked_s,
            decode_s=decode_s,
            thought_s=decode_s if thought or self._text.thinks else stats.thought_s,
            lookahead_counts={**stats.lookahead_counts, k: stats.lookahead_counts.get(k, 0) + 1},
            draft_s=draft_s,
            verify_s=self._stopwatch.verify_s,
            guessing_s=stats.guessing_s + guessing_s,
            positions=_by_position(stats.positions, [accepted for _, accepted in tested]),
            sources=_by_source(stats.sources, tested),
            masked_rows=self._form.rows if self._form else 0,
            mask_s=self._form.seconds if self._form else 0.0,
        )


def _by_position(tallies: Sequence[Tally], tested: Sequence[bool]) -> tuple[Tally, ...]:
    return tuple(
        (tally or Tally()).plus(accepted) for tally, accepted in zip_longest(tallies, tested)
    )


def _by_source(
    tallies: Mapping[str, Tally], tested: Iterable[tuple[str, bool]]
) -> dict[str, Tally]:
    result = dict(tallies)
    for source, accepted in tested:
        result[source] = result.get(source, Tally()).plus(accepted)
    return result
