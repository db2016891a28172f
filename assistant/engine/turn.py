"""The rounds of one answer: the two decoding loops take turns over one list of tokens."""

from collections.abc import Iterator, Sequence
from time import perf_counter

import numpy as np

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.policy import Control, Fixed, Policy
from assistant.decoding.loops import Round, autoregressive, speculative
from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.rule import Rule
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Plan, Source
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.warp import Warp, warp
from assistant.engine.answer import Answer
from assistant.events import Forecast, Noticed, Prefilled, Reason, Role
from assistant.request import Request
from models.base import Logits, Model
from models.errors import Cancelled, DraftFailed, ModelError

PREFILL_CHUNK = 256  # tokens between two signs of life
QUICK = 64  # tokens that are read without a word


class Turn:
    """Decode an answer behind `tokens`, which grow with it."""

    def __init__(
        self,
        target: Model,
        sources: Sequence[Source],
        controller: Controller | None,
        request: Request,
        control: Control,
        tokens: list[int],
        answer: Answer,
    ) -> None:
        self._target, self._drafter = target, Cascade(*sources)
        self._controller, self._policy = controller, Policy(control, controller)
        if controller:
            controller.begin()
        self._request, self._control = request, control
        self._tokens, self._answer = tokens, answer
        self._warp = warp_of(request, control)
        self._plan: Plan = Fixed(0)
        self.forecast = Forecast(Reason.FIRST)
        """What is expected of speculation, and why the last round proposed what it did."""

    def rounds(self) -> Iterator[Round | Prefilled | Noticed]:
        """Yield rounds until the context is full, and what happens between them.

        Raises:
            Cancelled: somebody stopped it; `tokens` hold every whole round.
            ModelError: the target cannot go on.
        """
        rule = rule_of(self._request)
        ars = autoregressive(self._target, self._tokens, self._warp, rule)
        sps = speculative(
            self._target, self._drafter, self._tokens, lambda: self._plan, self._warp, rule
        )
        while len(self._tokens) < self._target.n_ctx:
            if self._control.cancel.raised:
                raise Cancelled
            self._policy = Policy(self._control, self._controller).now()
            try:
                if self._speculates:
                    yield from self._prefill()
                    yield self._timed(sps)
                    if self._drafter.failure:
                        raise self._drafter.failure
                else:
                    yield self._timed(ars)
            except DraftFailed as error:
                del self._drafter.sources[ModelSource.name]
                yield Noticed(f"{error} The answer goes on without the draft model.")

    @property
    def _speculates(self) -> bool:
        return bool(
            self._policy.control.mode != "ars"
            and self._answer.stats.generated_tokens  # the first one does not wait for a draft
            and self._drafter.sources
        )

    def _timed(self, loop: Iterator[Round]) -> Round:
        self._plan = self._policy.plan(self._room) if self._speculates else Fixed(0)
        draft, tables, started = self._draft_s, self._drafter.tables_s, perf_counter()
        round_ = next(loop)
        seconds, draft_s = perf_counter() - started, self._draft_s - draft
        tables_s = self._drafter.tables_s - tables
        reason = self._reason
        if self._controller is None:
            self.forecast = Forecast(reason)
            return round_
        self._controller.observe(round_, self._plan, seconds, draft_s, tables_s)
        self.forecast = self._controller.forecast(reason, self._plan)
        return round_

    @property
    def _reason(self) -> Reason:
        if self._policy.control.mode != "ars":
            if not self._drafter.sources:
                return Reason.NO_SOURCE
            if not self._answer.stats.generated_tokens:
                return Reason.FIRST
        return self._policy.reason(self._plan)

    @property
    def _room(self) -> int:
        """How many tokens may be proposed, so that one more still fits behind them."""
        room = min(self._target.n_ctx - len(self._tokens), self._target.max_rows)
        return max(0, min(room, self._answer.tokens_left) - 1)

    @property
    def _model(self) -> ModelSource | None:
        source = self._drafter.sources.get(ModelSource.name)
        return source if isinstance(source, ModelSource) else None

    @property
    def _draft_s(self) -> float:
        return self._model.model.busy_s if self._model else 0.0

    def _prefill(self) -> Iterator[Prefilled]:
        """Have the draft model read what it lacks, if that is worth its time."""
        source = self._model
        if source is None:
            return
        source.read(self._tokens)
        reading = self._policy.reading(source.ways(self._tokens), self._answer.tokens_left)
        if reading is None:
            return
        source.begin(self._tokens, reading.context)
        before = self._draft_s
        try:
            for sign in prefill(source.model, "draft", source.seen(self._tokens[:-1])):
                if reading.unread > QUICK:
                    yield sign
        except ModelError as error:
            raise DraftFailed(str(error)) from error
        finally:
            if self._controller and self._policy.is_free:
                self._controller.read(reading.unread, self._draft_s - before)


def rule_of(request: Request, number: int = 0) -> Rule:
    """Return the chance of an answer: of a stream, or with a seed of each place's own.

    Several answers to one request are numbered from 0; with a seed, each has that of its number
    more, and so it is the answer that this seed gives alone.
    """
    if request.seed is not None:
        return CoupledRule(request.seed + number)
    rng = np.random.default_rng()
    return BlockRule(rng) if request.rule == "block" else TokenRule(rng)


def warp_of(request: Request, control: Control) -> Warp:
    """Return how logits become rows: as the request has it, or as the person wants it by now."""

    def warped(logits: Logits, history: Sequence[int]) -> Row:
        return warp(logits, control.sampling or request.sampling, history)

    return warped


def prefill(model: Model, role: Role, tokens: Sequence[int]) -> Iterator[Prefilled]:
    """Read `tokens` in chunks, so that progress shows and a cancel is soon obeyed."""
    for start in range(model.cached(tokens), len(tokens), PREFILL_CHUNK):
        end = min(start + PREFILL_CHUNK, len(tokens))
        model.logits(tokens[:end], rows=0)
        yield Prefilled(role, end, len(tokens))
