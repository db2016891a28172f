"""The answer being decoded: its text, its provenance and its counts."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Protocol

from assistant.calling.reader import CallParts, CallReader
from assistant.chat.answer_text import Detokenizer, StopStrings
from assistant.chat.thinking import PartReader
from assistant.decoding.loops import Rejected, Round, Sampled
from assistant.decoding.warp import Row
from assistant.engine.stopwatch import Stopwatch
from assistant.events import (
    Alternative,
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
from assistant.tokens import said
from models.base import Vocab

_BEGUN = -1  # the id of what stands for the beginning of an answer that is continued


class FormProgress(Protocol):
    """A form that an answer has to have; see `assistant.forms.mask`."""

    rows: int
    seconds: float

    @property
    def is_over(self) -> bool:
        """Whether nothing but the end may follow."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether the answer has the form."""
        ...


class AnswerBuilder:
    """Collect rounds into an answer and notice where it ends."""

    def __init__(
        self,
        request: Request,
        vocab: Vocab,
        stopwatch: Stopwatch,
        prompt: int,
        cached: int,
        parts: PartReader | None = None,
        mark: Callable[[int], str] = lambda token: "",
        form: FormProgress | None = None,
        calls: CallParts | None = None,
    ) -> None:
        self.stop: Stop | None = None
        self.stats = Stats(
            request.mode, prompt_tokens=prompt, cached_tokens=cached, beside=request.answers - 1
        )
        self._max_tokens = request.max_tokens or sys.maxsize
        self._stop_tokens = vocab.stop_tokens
        self._detokenizer = Detokenizer(vocab.piece)
        if request.continues:  # its last token may have begun a character
            for token in request.messages[-1].token_ids:
                self._detokenizer.decode(token)
        self._stop_strings = StopStrings(request.stop_strings)
        self._parts, self._mark = parts or PartReader(None), mark
        self._ids: list[int] = []
        self._provenance = Provenance(vocab, request.alternatives)
        self._shown: list[Token] = []
        self._stopwatch = stopwatch
        self._form = form  # that the answer has to have
        self._calls, self._called = calls, CallReader()
        if calls and request.continues:  # it may have been cut within a call
            begun = Token(_BEGUN, request.messages[-1].content, Origin.TARGET, None, 1.0, None)
            self._called.read(calls.pass_on(begun))
        self._cut = len(calls.cut) if calls else 0  # characters that are not this answer's

    @property
    def tokens_left(self) -> int:
        """How many tokens the request still allows."""
        return self._max_tokens - self.stats.generated_tokens

    def begin(self) -> None:
        """Note that the prompt has been read and decoding begins."""
        self._stopwatch.begin()
        self.stats = replace(self.stats, prefill_s=self._stopwatch.prefill_s)

    def add(self, round_: Round, forecast: Forecast | None = None) -> Decoded:
        """Take a round, up to where the answer ends."""
        shown: list[Token] = []
        taken: list[Token] = []
        thought, thinking = 0, self._parts.thinks
        for sampled in round_.tokens:
            ends = sampled.id in self._stop_tokens
            thought += self._parts.thinks
            text = "" if ends else self._detokenizer.decode(sampled.id) or self._mark(sampled.id)
            taken.append(self._provenance.token(sampled, text, len(taken)))
            if not ends:
                self._ids.append(sampled.id)
            found = self._pass_on(self._parts.pass_on(taken[-1]), shown)
            if ends or found:
                self.stop = Stop.STOP_TOKEN if ends else Stop.STOP_STRING
                break
        self._count(round_, taken)
        if thinking or self._parts.thinks:
            self.stats = replace(
                self.stats,
                thought_tokens=self.stats.thought_tokens + thought,
                thought_s=self.stats.decode_s,
            )
        if self.stop is None and self._form and self._form.is_over:
            self.stop = Stop.STOP_TOKEN
        if self.stop is None and self.tokens_left <= 0:
            self.stop = Stop.LENGTH
        # What follows the end of the answer was never looked at.
        whole = len(taken) == len(round_.tokens)
        ghosts = self._provenance.ghosts(round_) if whole else ()
        return self._decoded(shown, ghosts, round_.proposed, forecast)

    def finish(self) -> Iterator[Decoded | Finished]:
        """Yield what was held back, and the end."""
        cut = self.stop is Stop.STOP_STRING
        held: list[Token] = []
        if not cut and not self._pass_on(self._parts.flush(), held, last=True):
            held += self._stop_strings.flush()
        if held:
            yield self._decoded(held)
        text, thought = said(self._shown), said(self._shown, "thought")
        ids = () if cut else tuple(self._ids)  # the text was cut within a token
        if self._calls:
            text += self._calls.cut[self._cut :]
        rest = "" if cut else self._detokenizer.flush()
        if self._parts.thinks:
            thought += rest
        else:
            text += rest
        stop = self.stop or Stop.CANCELLED
        whole = self._form is None or (stop is not Stop.STOP_STRING and self._form.is_complete)
        yield Finished(
            text, ids, stop, self.stats, complete=whole, thought=thought, calls=self._called.calls
        )

    def _pass_on(self, tokens: Iterable[Token], shown: list[Token], last: bool = False) -> bool:
        """Show tokens, those of the answer up to a stop string; say whether there is one."""
        for token in self._with_calls(tokens, last):
            if token.part != "answer":
                shown += [*self._stop_strings.flush(), token]
                continue
            released, found = self._stop_strings.pass_on(token)
            shown += released
            if found:
                return True
        return False

    def _with_calls(self, tokens: Iterable[Token], last: bool) -> Iterator[Token]:
        """Yield tokens of which those of calls are known."""
        if self._calls is None:
            yield from tokens
            return
        for token in tokens:
            known = self._calls.pass_on(token) if token.part == "answer" else [token]
            yield from (each for each in known if each.id != _BEGUN)
        if last:
            yield from (each for each in self._calls.flush() if each.id != _BEGUN)

    def _decoded(
        self,
        shown: Sequence[Token],
        ghosts: tuple[Ghost, ...] = (),
        lookahead: int = 0,
        forecast: Forecast | None = None,
    ) -> Decoded:
        self._shown += shown
        self._called.read(shown)
        used = self.stats.prompt_tokens + self.stats.generated_tokens
        return Decoded(tuple(shown), ghosts, lookahead, used, self.stats, forecast)

    def _count(self, round_: Round, taken: Sequence[Token]) -> None:
        """Count what became part of the answer."""
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
            first_token_s=stats.first_token_s or self._stopwatch.since_asked_s,
            decode_s=decode_s,
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


class Provenance:
    """Describe what verification decided, with `alternatives` for each row."""

    def __init__(self, vocab: Vocab, alternatives: int) -> None:
        self._vocab = vocab
        self._alternatives = alternatives
        self._names: dict[int, str] = {}

    def token(self, sampled: Sampled, text: str, position: int) -> Token:
        """Return a decoded token that completes `text`."""
        target, draft, proposal = sampled.target_row, sampled.draft_row, sampled.proposal
        return Token(
            sampled.id,
            text,
            sampled.origin,
            proposal.source if proposal else None,
            float(target.prob(sampled.id)),
            float(draft.prob(sampled.id)) if len(draft.ids) else None,
            position,
            _plain(sampled.uniform),
            self._top(target),
            self._top(draft),
            _plain(sampled.threshold),
        )

    def ghosts(self, round_: Round) -> tuple[Ghost, ...]:
        """Return the proposals of a round that were thrown away."""
        return tuple(
            self._ghost(rejected, round_.accepted + i) for i, rejected in enumerate(round_.rejected)
        )

    def _ghost(self, rejected: Rejected, position: int) -> Ghost:
        proposal, target = rejected.proposal, rejected.target_row
        return Ghost(
            proposal.token,
            self._name(proposal.token),
            proposal.source,
            position,
            float(proposal.row.prob(proposal.token)),
            None if target is None else float(target.prob(proposal.token)),
            _plain(rejected.uniform),
            _plain(rejected.threshold),
        )

    def _top(self, row: Row) -> tuple[Alternative, ...]:
        best = row.top(self._alternatives)
        return tuple(Alternative(token, self._name(token), prob) for token, prob in best)

    def _name(self, token: int) -> str:
        """Return the text of a token by itself; a control token has but its name."""
        if token not in self._names:
            piece = self._vocab.piece(token).decode("utf-8", "replace")
            self._names[token] = piece or self._vocab.text(token)
        return self._names[token]


def _plain(number: float | None) -> float | None:
    """Return a number as Python's own, which may cross a process."""
    return None if number is None else float(number)
