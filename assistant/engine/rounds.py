"""The rounds of an answer: each is planned, drafted, verified and learnt from."""

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

from assistant.decoding.lookahead.controller import RoundCost
from assistant.decoding.lookahead.plans import FixedPlan, RoundPlan
from assistant.decoding.loops import Round, verified
from assistant.decoding.mask import Forced, Mask, NothingAllowed, constrained, forcing
from assistant.decoding.model import DraftFailed, Model, most_proposals
from assistant.decoding.rules.rule import Rule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Draft
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.warp import Warp
from assistant.engine.policy import Policy
from assistant.events import Forecast, Prefilled, Reason, Role, Warned
from models.errors import Cancelled, ModelError, UsageError

PREFILL_CHUNK = 256  # tokens between two reports of progress
SILENT_PREFILL = 64  # tokens of a draft's prefill that are not worth a report


class PlannedRound(NamedTuple):
    """A round, and what its plan expected of it."""

    round: Round
    forecast: Forecast


class Rounds:
    """Decode an answer; each round appends to its tokens.

    Args:
        tokens: the prompt, and then the answer as well.
        drafter: proposes. A draft model that fails is taken out of it.
        warp: how logits become rows, before a form and forced tokens.
        policy: decides what a round proposes; asked once for each.
        mask: what the form of the answer allows next; None without a form.
        forced: returns the token that must come next, if any; see `ThoughtReader.forced`.
        begin: where the answer begins, by default at the end of `tokens`: no source is asked for
            its first token, which so waits for no draft.
        limit: the most tokens with which another round begins; the context's size by default.
        clock: seconds, by which rounds are timed.
    """

    def __init__(
        self,
        target: Model,
        tokens: list[int],
        drafter: Cascade,
        rule: Rule,
        warp: Warp,
        policy: Policy,
        *,
        mask: Mask | None = None,
        forced: Forced | None = None,
        begin: int | None = None,
        limit: int | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._target, self._tokens, self._drafter, self._rule = target, tokens, drafter, rule
        self._warp, self._policy, self._clock = warp, policy, clock
        self._target_warp = constrained(forcing(warp, forced), mask)
        self._begin = len(tokens) if begin is None else begin
        self._limit = target.n_ctx if limit is None else min(limit, target.n_ctx)
        if policy.controller:
            policy.controller.begin()

    def __iter__(self) -> Iterator[PlannedRound | Prefilled | Warned]:
        """Yield rounds, progress of the draft's prefill and notices, until the limit is reached.

        Raises:
            Cancelled: the user stopped it; the tokens hold every completed round.
            ModelError: the target cannot continue.
        """
        while len(self._tokens) < self._limit:
            if self._policy.control.cancel.raised:
                raise Cancelled
            if not self._silence():
                try:
                    yield from self._prefill()
                except DraftFailed as error:
                    yield self._without_model(error)
                    continue
            yield self._round()
            if self._drafter.failure:
                yield self._without_model(self._drafter.failure)

    def _silence(self) -> Reason | None:
        """Return why a round asks no source; None if it does."""
        if self._policy.control.mode == "ars":
            return Reason.ARS
        if not self._drafter.sources:
            return Reason.NO_SOURCE
        return Reason.FIRST if len(self._tokens) == self._begin else None

    def _round(self) -> PlannedRound:
        controller, drafter = self._policy.controller, self._drafter
        draft_s, tables_s, started = self._draft_s, drafter.tables_s, self._clock()
        read = self._tokens[:-1]  # of which a target that rolls back in steps has lost some
        again = 0 if self._target.rollback is None else len(read) - self._target.cached(read)
        if controller:
            controller.at(len(self._tokens))
        plan, draft = self._drafted(again)
        round_ = self._verified(draft)
        if controller is None:
            return PlannedRound(round_, Forecast(plan.reason))
        seconds = self._clock() - started
        draft_s, tables_s = self._draft_s - draft_s, drafter.tables_s - tables_s
        controller.observe(RoundCost(round_, plan, seconds, draft_s, tables_s, again))
        return PlannedRound(round_, controller.forecast(plan))

    def _drafted(self, again: int) -> tuple[RoundPlan, Draft]:
        if why := self._silence():
            return FixedPlan(0, why), Draft()
        left = self._limit - len(self._tokens) - 1  # the round yields a token more
        room = max(0, min(most_proposals(self._target), left))
        plan = self._policy.plan(room, again, self._target.rollback == 0, self._clock)
        return plan, self._drafter.propose(self._tokens, plan, self._warp, self._rule.draw)

    def _verified(self, draft: Draft) -> Round:
        logits = self._target.logits([*self._tokens, *draft.tokens], len(draft.proposals) + 1)
        try:
            return verified(draft, logits, self._tokens, self._target_warp, self._rule)
        except NothingAllowed as error:
            raise UsageError(str(error)) from error

    # The draft model

    @property
    def _model(self) -> ModelSource | None:
        sources = self._drafter.sources.values()
        return next((each for each in sources if isinstance(each, ModelSource)), None)

    @property
    def _draft_s(self) -> float:
        """Seconds that the draft model has computed so far."""
        return self._model.model.busy_s if self._model else 0.0

    def _prefill(self) -> Iterator[Prefilled]:
        """Have the draft model read what it has not seen, if the policy expects that to pay."""
        source, tokens, policy = self._model, self._tokens, self._policy
        if source is None:
            return
        source.read(tokens)
        more = self._limit - len(tokens)
        # A reading that stops halfway is lost: piece by piece, each timed, it goes on to its end.
        while reading := policy.reading(source.prefill_options(tokens), more):
            source.begin(tokens, reading.context)
            seen, before = source.seen(tokens[:-1]), self._draft_s
            begun = source.model.cached(seen)
            try:
                for progress in prefill(source.model, "draft", seen, reading.piece):
                    if reading.unread > SILENT_PREFILL:
                        yield progress
            except ModelError as error:
                raise DraftFailed(str(error)) from error
            finally:
                if policy.controller and policy.is_free:
                    read = source.model.cached(seen) - begun
                    policy.controller.read(read, self._draft_s - before)
            if source.model.cached(seen) == begun:  # its context is full
                return

    def _without_model(self, error: DraftFailed) -> Warned:
        """Drop a draft model that has failed; return the notice for the user."""
        if self._model:
            del self._drafter.sources[self._model.name]
        self._drafter.failure = None
        return Warned(f"{error} The answer continues without the draft model.")


def prefill(
    model: Model, role: Role, tokens: Sequence[int], most: int | None = None
) -> Iterator[Prefilled]:
    """Read tokens in chunks, at most `most` of them, so that a cancel takes effect between two."""
    begun = model.cached(tokens)
    last = len(tokens) if most is None else min(begun + most, len(tokens))
    for start in range(begun, last, PREFILL_CHUNK):
        end = min(start + PREFILL_CHUNK, last)
        model.logits(tokens[:end], rows=0)
        yield Prefilled(role, end, len(tokens))
