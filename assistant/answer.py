"""The answer being decoded: its text, its provenance and its counts."""

import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from time import perf_counter

from assistant.chat.detokenizer import Detokenizer
from assistant.chat.stops import StopStrings
from assistant.decoding import Round
from assistant.events import Decoded, Finished, Origin, Stats, Stop, Token
from assistant.request import Request
from models.base import Vocab


class Answer:
    """Collect rounds into an answer and notice where it ends.

    `requested` is the moment the person asked, on the clock of `perf_counter`.
    """

    def __init__(
        self, request: Request, vocab: Vocab, requested: float, prompt: int, cached: int
    ) -> None:
        self.stop: Stop | None = None
        self.stats = Stats(request.mode, prompt_tokens=prompt, cached_tokens=cached)
        self._max_tokens = request.max_tokens or sys.maxsize
        self._stop_tokens = vocab.stop_tokens
        self._detokenizer = Detokenizer(vocab.piece)
        self._stop_strings = StopStrings(request.stop_strings)
        self._shown: list[Token] = []
        self._requested = self._decoding_since = requested

    @property
    def tokens_left(self) -> int:
        """How many tokens the request still allows."""
        return self._max_tokens - self.stats.generated_tokens

    def begin(self) -> None:
        """Note that the prompt has been read and decoding begins."""
        self._decoding_since = perf_counter()
        self.stats = replace(self.stats, prefill_s=self._decoding_since - self._requested)

    def add(self, round_: Round) -> Decoded:
        """Take a round, up to where the answer ends."""
        shown: list[Token] = []
        taken: list[Token] = []
        for sampled in round_.tokens:
            ends = sampled.id in self._stop_tokens
            text = "" if ends else self._detokenizer.decode(sampled.id)
            taken.append(Token(text=text, **asdict(sampled)))
            released, found = self._stop_strings.pass_on(taken[-1])
            shown += released
            if ends or found:
                self.stop = Stop.STOP_TOKEN if ends else Stop.STOP_STRING
                break
        self._count(round_, taken)
        if self.stop is None and self.tokens_left <= 0:
            self.stop = Stop.LENGTH
        return self._decoded(shown, round_)

    def finish(self) -> Iterator[Decoded | Finished]:
        """Yield what was held back, and the end."""
        if self.stop is not Stop.STOP_STRING and (held := self._stop_strings.flush()):
            yield self._decoded(held, Round(()))
        text = "".join(token.text for token in self._shown)
        ids = tuple(token.id for token in self._shown if token.id not in self._stop_tokens)
        if self.stop is Stop.STOP_STRING:
            ids = ()  # the text was cut within a token
        else:
            text += self._detokenizer.flush()
        yield Finished(text, ids, self.stop or Stop.CANCELLED, self.stats)

    def _decoded(self, shown: list[Token], round_: Round) -> Decoded:
        self._shown += shown
        rejected = round_.proposed[round_.accepted :] if round_.tokens else ()
        used = self.stats.prompt_tokens + self.stats.generated_tokens
        return Decoded(tuple(shown), rejected, len(round_.proposed), used, self.stats)

    def _count(self, round_: Round, taken: list[Token]) -> None:
        """Count what became part of the answer: what follows its end was never looked at."""
        now, stats, k = perf_counter(), self.stats, len(round_.proposed)
        accepted = sum(token.origin is Origin.DRAFT for token in taken)
        self.stats = replace(
            stats,
            rounds=stats.rounds + 1,
            drafted=stats.drafted + k,
            tested=stats.tested + min(len(taken), round_.tested),
            accepted=stats.accepted + accepted,
            generated_tokens=stats.generated_tokens + len(taken),
            first_token_s=stats.first_token_s or now - self._requested,
            decode_s=now - self._decoding_since,
            lookahead_counts={**stats.lookahead_counts, k: stats.lookahead_counts.get(k, 0) + 1},
        )
