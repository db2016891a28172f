"""The rounds of an answer: each is planned, drafted, verified and observed."""

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.forecast import Forecast, Reason
from assistant.decoding.lookahead.plans import SHORT, Clock, FixedPlan, RoundPlan
from assistant.decoding.loops import Round, speculative_round
from assistant.decoding.mask import Forced, Mask, constrained, forcing
from assistant.decoding.model import DraftFailed, Logits, Model, max_proposals
from assistant.decoding.rules.rule import Rule
from assistant.decoding.sources.draft import Cascade
from assistant.decoding.sources.model import ModelSource, PrefillOption
from assistant.decoding.warp import Warp
from assistant.engine.control import Control
from assistant.events import Prefilled, Role, Warned
from assistant.request import Mode
from models.errors import Cancelled, ModelError, UsageError

FIXED_LOOKAHEAD = 3  # where nothing was measured: verify width 4
PREFILL_CHUNK = 256  # tokens between two reports of progress
LATE_CONTEXT = 128  # tokens that a draft reads when it is loaded during an answer
SILENT_PREFILL = 64  # shorter prefills of a draft are not reported


class PlannedRound(NamedTuple):
    """A round, what its plan expected, and the target's logits: the first rows are its tokens'."""

    round: Round
    forecast: Forecast
    logits: Logits


class Rounds:
    """Decode an answer; each round appends to its tokens.

    The user's mode and lookahead decide what a round proposes, or the controller. Without one,
    costs on this machine are unknown: mode auto decodes by ArS, and SpS proposes `FIXED_LOOKAHEAD`
    tokens. The first token of an answer is never proposed, so that it waits for no draft.
    """

    def __init__(
        self,
        target: Model,
        tokens: list[int],  # the prompt, and then the answer as well
        drafter: Cascade,  # proposes; a draft model that fails is removed from it
        rule: Rule,
        warp: Warp,  # how logits become rows, before a constraint and forced tokens
        control: Control,  # mode and lookahead, which may change meanwhile
        controller: Controller | None = None,  # weighs proposals
        *,
        mask: Mask | None = None,  # of the answer's constraint
        forced: Forced | None = None,  # see `ThoughtReader.forced_token`
        answer_start: int | None = None,  # index of its first token; by default, after `tokens`
        is_suggestion: bool = False,  # for an editor: its first token may be copied, less time lost
        is_predicted: bool = False,  # by the request: then as much may be lost as in a chat
        limit: int | None = None,  # tokens from which on no round begins; by default the context's
        clock: Clock = perf_counter,
    ) -> None:
        self._target, self._tokens, self._drafter, self._rule = target, tokens, drafter, rule
        self._warp, self._clock = warp, clock
        self._control, self._controller = control, controller
        self._target_warp = constrained(forcing(warp, forced), mask)
        self._answer_start = len(tokens) if answer_start is None else answer_start
        self._is_suggestion = is_suggestion
        self._limit = target.n_ctx if limit is None else min(limit, target.n_ctx)
        if controller:
            controller.begin(is_suggestion and not is_predicted, target.rollback == 0, clock)

    def __iter__(self) -> Iterator[PlannedRound | Prefilled | Warned]:
        """Yield rounds, progress of the draft's prefill and warnings, until the limit is reached.

        Raises:
            Cancelled: the user stopped it; `tokens` has every completed round.
            ModelError: the target cannot continue.
            UsageError: the constraint allows none of the model's tokens.
        """
        while len(self._tokens) < self._limit:
            if self._control.cancel.raised:
                raise Cancelled
            if not self._no_draft_reason(self._control.mode):
                try:
                    yield from self._prefill()
                except ModelError as error:
                    yield self._without_model(error)
            yield self._round()
            if self._drafter.failure:
                yield self._without_model(self._drafter.failure)

    def _no_draft_reason(self, mode: Mode) -> Reason | None:
        """Return why a round has no draft; None if it may have one."""
        if mode == "ars":
            return Reason.ARS
        if not self._drafter.sources:
            return Reason.NO_SOURCE
        is_first = len(self._tokens) == self._answer_start
        return Reason.FIRST if is_first and not self._is_suggestion else None

    def _round(self) -> PlannedRound:
        controller, target, tokens = self._controller, self._target, self._tokens
        draft_before_s, started = self._draft_s, self._clock()
        past = tokens[:-1]  # some are evaluated again by a target that rolls back in steps
        recomputed = 0 if target.rollback is None else len(past) - target.cached(past)
        plan = self._plan(recomputed)
        round_, logits = speculative_round(
            target, self._drafter, tokens, plan, self._warp, self._rule, self._target_warp
        )
        if tokens[-1] == target.n_vocab:  # the mark of `constrained` for: nothing is allowed
            raise UsageError("The form allows no token that this model has.")
        if controller is None:
            return PlannedRound(round_, Forecast(plan.reason), logits)
        seconds, draft_s = self._clock() - started, self._draft_s - draft_before_s
        controller.observe(round_, plan, seconds, draft_s, recomputed)
        return PlannedRound(round_, controller.forecast(plan, recomputed), logits)

    def _plan(self, recomputed: int) -> RoundPlan:
        mode, lookahead = self._control.mode, self._control.lookahead  # both may change meanwhile
        if reason := self._no_draft_reason(mode):
            return FixedPlan(0, reason)
        left = self._limit - len(self._tokens) - 1  # the round adds one token itself
        budget = max(0, min(max_proposals(self._target), left))
        if lookahead is not None:
            return FixedPlan(min(lookahead, budget), Reason.CHOSEN)
        if self._controller:
            return self._controller.plan(budget, int(mode == "sps"), recomputed)
        if mode == "sps":
            return FixedPlan(min(FIXED_LOOKAHEAD, budget), Reason.SPS)
        return FixedPlan(0, Reason.UNMEASURED)

    # The draft model

    @property
    def _may_propose_nothing(self) -> bool:
        """Whether the controller may decide to propose nothing."""
        return self._control.mode == "auto" and self._control.lookahead is None

    @property
    def _model(self) -> ModelSource | None:
        sources = self._drafter.sources.values()
        return next((source for source in sources if isinstance(source, ModelSource)), None)

    @property
    def _draft_s(self) -> float:
        """Seconds that the draft model has computed so far."""
        return self._model.model.busy_s if self._model else 0.0

    def needs_draft(self, after: int) -> bool:
        """Return whether a draft may propose now: after `after` tokens, unless SpS was chosen."""
        control, answered = self._control, len(self._tokens) - self._answer_start
        may_end_first = self._limit - len(self._tokens) < after
        if control.mode == "ars" or control.lookahead == 0:
            return False
        return not self._may_propose_nothing or (answered >= after and not may_end_first)

    def add_draft(self, source: ModelSource) -> None:
        """Have a draft model propose from now on; ModelError if it cannot read the last tokens."""
        source.restart(self._tokens, LATE_CONTEXT)
        prefill_draft(source, self._tokens[:-1], self._controller)
        self._drafter.sources[source.name] = source

    def _prefill(self) -> Iterator[Prefilled]:
        """Prefill the draft model with the tokens it lacks, if that is expected to pay."""
        source, tokens = self._model, self._tokens
        if source is None:
            return
        source.read(tokens)
        # A partial prefill is of no use, so it continues to its end, in chunks that are timed.
        while option := self._next_prefill(source.prefill_options(tokens)):
            source.restart(tokens, option.context)
            seen, before = source.window_tokens(tokens[:-1]), self._draft_s
            start = source.model.cached(seen)
            try:
                for progress in prefill(source.model, "draft", seen, option.chunk):
                    if option.pending > SILENT_PREFILL:
                        yield progress
            finally:
                if self._controller and self._may_propose_nothing:
                    count = source.model.cached(seen) - start
                    self._controller.observe_prefill(count, self._draft_s - before)
            if source.model.cached(seen) == start:  # its context is full
                return

    def _next_prefill(self, options: Sequence[PrefillOption]) -> PrefillOption | None:
        """Return the prefill of the draft model to run now; None for none.

        The first of the `options` keeps its window.
        """
        if self._may_propose_nothing:
            left = self._limit - len(self._tokens)
            return self._controller.next_prefill(options, left) if self._controller else None
        is_wanted = self._control.mode != "ars" and self._control.lookahead != 0
        return options[0] if is_wanted and options[0].pending > SHORT else None

    def _without_model(self, error: DraftFailed | ModelError) -> Warned:
        """Remove a draft model that has failed; return the warning for the user."""
        if self._model:
            del self._drafter.sources[self._model.name]
        self._drafter.failure = None
        return Warned(f"{error} The answer continues without the draft model.")


def prefill_draft(
    source: ModelSource, tokens: Sequence[int], controller: Controller | None
) -> None:
    """Evaluate the `tokens` in a draft's window that it lacks; the controller observes the time."""
    pending, before = source.pending(tokens), source.model.busy_s
    source.model.logits(source.window_tokens(tokens), rows=0)
    if controller and pending:
        controller.costs.draft.observe(pending, source.model.busy_s - before)


def prefill(
    model: Model, role: Role, tokens: Sequence[int], limit: int | None = None
) -> Iterator[Prefilled]:
    """Evaluate up to `limit` tokens in chunks, so that a cancel takes effect between two.

    Progress is yielded before the first chunk and after each.
    """
    cached = model.cached(tokens)
    last = len(tokens) if limit is None else min(cached + limit, len(tokens))
    if cached < last:
        yield Prefilled(role, cached, len(tokens))
    for start in range(cached, last, PREFILL_CHUNK):
        end = min(start + PREFILL_CHUNK, last)
        model.logits(tokens[:end], rows=0)
        yield Prefilled(role, end, len(tokens))
