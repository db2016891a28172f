"""The answer in progress: its end, its text, and the origin of each token."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log
from typing import TYPE_CHECKING

import numpy as np

from assistant import events
from assistant.decoding.lookahead.forecast import Forecast
from assistant.decoding.loops import Rejected, Round, Sampled
from assistant.decoding.model import Logits
from assistant.decoding.row import EMPTY, Row, top_indices
from assistant.engine.stats_builder import StatsBuilder
from assistant.prompt.answer_text import AnswerText
from assistant.request import Request
from models.native.vocab import Vocab

if TYPE_CHECKING:
    from assistant.constraints.mask import ConstraintMask  # whose library few answers need


class AnswerBuilder:
    """Collects rounds into an answer, and detects its end."""

    def __init__(
        self,
        request: Request,
        vocab: Vocab,
        stats_builder: StatsBuilder,
        text: AnswerText,
        constraint: ConstraintMask | None = None,
    ) -> None:
        self.stop: events.Stop | None = None
        self._max_tokens = request.max_tokens or sys.maxsize
        self._stop_tokens = vocab.stop_tokens
        if request.raw:  # a control token has no text that a stop string could be found in
            named = vocab.controls.keys() & request.stop_strings
            self._stop_tokens |= {
                *vocab.infill_marks.values(),
                *(vocab.controls[name] for name in named),
            }
        self._text, self._constraint = text, constraint
        self._ids: list[int] = []
        self._provenance = Provenance(vocab, request.alternatives)
        self._logprobs = request.logprobs
        self._lookahead = 0  # of the last round
        self._forecast: Forecast | None = None
        self.stats_builder = stats_builder

    def add(
        self, round_: Round, forecast: Forecast | None = None, logits: Logits | None = None
    ) -> events.Decoded:
        """Add the tokens of a round up to the end of the answer; return the event for the user.

        `logits` are the target's, a row for each token.
        """
        shown: list[events.Token] = []
        added: list[events.Token] = []
        thought_tokens = 0
        for sampled in round_.tokens:
            thought_tokens += self._text.is_thinking
            ends = sampled.id in self._stop_tokens
            text = "" if ends else self._text.complete(sampled.id)
            token = self._provenance.token(sampled, text, len(added))
            if self._logprobs is not None and logits is not None and not ends:
                row = logits[len(added)]
                logprobs = self._provenance.logprobs(sampled.id, row, self._logprobs)
                token = replace(token, logprobs=logprobs)
            added.append(token)
            shown += self._text.add(token)
            if not ends:
                self._ids.append(sampled.id)
            if ends or self._text.stopped:
                self.stop = events.Stop.STOP_TOKEN if ends else events.Stop.STOP_STRING
                break
        masked = (self._constraint.rows, self._constraint.seconds) if self._constraint else (0, 0.0)
        share = forecast.recomputed if forecast else 0.0
        self.stats_builder.add(round_, added, thought_tokens, self._text.is_thinking, masked, share)
        self.stop = self.stop or self._limit()
        self._lookahead, self._forecast = round_.proposed, forecast
        ends_within = len(added) < len(round_.tokens)  # nothing after the end is reported
        rejected = () if ends_within else self._provenance.rejected(round_)
        return self._decoded(shown, rejected)

    def finish(self) -> Iterator[events.Decoded | events.Finished]:
        """Yield the buffered text, if any, and the end of the answer."""
        if buffered := self._text.flush():
            yield self._decoded(buffered)
        text, thought = self._text.end()
        stop, call_reader = self.stop or events.Stop.CANCELLED, self._text.call_reader
        is_cut = stop is events.Stop.STOP_STRING
        yield events.Finished(
            text,
            () if is_cut else tuple(self._ids),  # the text was cut within a token
            stop,
            self.stats_builder.stats,
            complete=self._constraint is None or (not is_cut and self._constraint.is_complete),
            thought=thought,
            tool_calls=call_reader.tool_calls if call_reader else (),
        )

    def _limit(self) -> events.Stop | None:
        """Return why the answer ends without a stop token or string; None if it does not."""
        if self._constraint and self._constraint.is_over:
            return events.Stop.STOP_TOKEN
        is_full = self.stats_builder.stats.generated_tokens >= self._max_tokens
        return events.Stop.LENGTH if is_full else None

    def _decoded(
        self, shown: Sequence[events.Token], rejected: tuple[events.RejectedToken, ...] = ()
    ) -> events.Decoded:
        stats, reader = self.stats_builder.stats, self._text.call_reader
        used = stats.prompt_tokens + stats.generated_tokens
        deltas: tuple[events.CallDelta, ...] = reader.drain() if reader else ()
        lookahead, forecast = self._lookahead, self._forecast
        return events.Decoded(tuple(shown), rejected, lookahead, used, stats, forecast, deltas)


class Provenance:
    """Reports how verification decided, with the `alternatives` best tokens of each row."""

    def __init__(self, vocab: Vocab, alternatives: int) -> None:
        self._vocab, self._alternatives = vocab, alternatives

    def token(self, sampled: Sampled, text: str, position: int) -> events.Token:
        """Return the report of a decoded token that completes `text`."""
        target, proposal = sampled.target_row, sampled.proposal
        draft = proposal.row if proposal else EMPTY
        return events.Token(
            sampled.id,
            text,
            sampled.origin,
            proposal.source if proposal else None,
            float(target.prob(sampled.id)),
            float(draft.prob(sampled.id)) if len(draft.ids) else None,
            position,
            _as_float(sampled.uniform),
            self._top(target),
            self._top(draft),
            _as_float(sampled.threshold),
        )

    def logprobs(self, token: int, logits: Logits, count: int) -> tuple[events.TokenLogprob, ...]:
        """Return the log probability of a token, then those of the `count` likeliest ones."""
        peak = float(logits.max())
        total = peak + log(np.exp(logits - np.float32(peak)).sum(dtype=np.float64))
        likely = top_indices(logits, count).tolist() if count else []
        ids = token, *sorted(likely, key=lambda id_: -logits[id_])
        return tuple(self._logprob(id_, float(logits[id_]) - total) for id_ in ids)

    def _logprob(self, token: int, logprob: float) -> events.TokenLogprob:
        utf8 = self._vocab.piece(token) or self._vocab.text(token).encode()
        return events.TokenLogprob(utf8.decode("utf-8", "replace"), tuple(utf8), logprob)

    def rejected(self, round_: Round) -> tuple[events.RejectedToken, ...]:
        """Return the reports of a round's rejected proposals."""
        rejected = enumerate(round_.rejected, round_.accepted)
        return tuple(self._rejected(proposal, position) for position, proposal in rejected)

    def _rejected(self, rejected: Rejected, position: int) -> events.RejectedToken:
        proposal, target = rejected.proposal, rejected.target_row
        return events.RejectedToken(
            proposal.token,
            self._name(proposal.token),
            proposal.source,
            position,
            float(proposal.row.prob(proposal.token)),
            None if target is None else float(target.prob(proposal.token)),
            _as_float(rejected.uniform),
            _as_float(rejected.threshold),
        )

    def _top(self, row: Row) -> tuple[events.Alternative, ...]:
        best = row.top(self._alternatives)
        return tuple(events.Alternative(token, self._name(token), prob) for token, prob in best)

    def _name(self, token: int) -> str:
        """Return the text of a token by itself; the name of a control token."""
        piece = self._vocab.piece(token).decode("utf-8", "replace")
        return piece or self._vocab.text(token)


def _as_float(number: float | None) -> float | None:
    """Return a NumPy number as a Python float, which can be sent to another process."""
    return None if number is None else float(number)
