"""A request in, the events of its answer out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.plans import Clock
from assistant.decoding.model import Model
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.rule import Rule, TokenRule
from assistant.decoding.sources.draft import Cascade, Source
from assistant.decoding.sources.model import MODEL, ModelSource
from assistant.decoding.sources.suffix import SuffixSource
from assistant.decoding.warp import Warp, warp
from assistant.engine.answer import AnswerBuilder
from assistant.engine.control import Control
from assistant.engine.prompt_cache import PromptCache
from assistant.engine.rounds import PlannedRound, Rounds, prefill, prefill_draft
from assistant.engine.stats_builder import StatsBuilder
from assistant.events import AnswerEvent, Prepared, Stats, Stop, Warned
from assistant.prompt.answer_text import AnswerText
from assistant.prompt.prompt_tokens import ChatPrompt, ChatTokens
from assistant.request import Message, Request
from models.base import common_prefix_length
from models.errors import Cancelled, ContextFull, ModelError
from models.native.vocab import Vocab

if TYPE_CHECKING:  # few answers need the libraries of these
    from assistant.constraints.constraints import Constraints
    from assistant.constraints.mask import ConstraintMask
    from assistant.engine.profile import Profile


DRAFT_AFTER = 32
"""Tokens after which an answer loads a draft that was deferred. They take 1.5 seconds with a 1.5B
on two cores, twice as long as the loading: whatever the answer's length, little is lost by it."""


class Assistant:
    """Answers requests with a target and draft sources."""

    def __init__(
        self,
        target: Model,
        vocab: Vocab,
        sources: Sequence[Source] = (),  # without any, every answer is autoregressive
        controller: Controller | None = None,  # without it, mode auto is autoregressive
        *,
        prompt_cache: PromptCache | None = None,
        draft_name: str | None = None,  # for the stats of answers
        engine: str | None = None,  # the library's name, for the same
        profile: Profile | None = None,  # of the pair; saved after answers
    ) -> None:
        self.target, self.vocab, self.controller = target, vocab, controller
        self.sources = {source.name: source for source in sources}
        self.prompt_cache, self.profile = prompt_cache, profile
        self._draft_name, self._engine = draft_name, engine
        self.deferred_draft: Callable[[], ModelSource] | None = None
        """Loads a draft that answers may begin without; None: there is none, or it is loaded."""
        self.can_grow = True
        """Whether the target was trained for a larger context."""
        self.chat = ChatTokens(vocab)
        """Tokenises conversations by the target's chat template."""
        self.chunk = 4
        """How many tokens an idle prefill evaluates at once; see `engine.idle`."""

    @property
    def draft(self) -> Model | None:
        """The draft model, if there is one."""
        sources = self.sources.values()
        return next((source.model for source in sources if isinstance(source, ModelSource)), None)

    def reply(
        self, request: Request, control: Control, clock: Clock = perf_counter
    ) -> Iterator[AnswerEvent]:
        """Yield the events of one answer, `Prepared` first and `Finished` last.

        `control` may change the mode meanwhile, or stop the answer: the decoded tokens stay, and so
        do the caches. All times are measured with `clock`. A `SpecchatError` says that the answer
        cannot begin, or cannot continue.
        """
        requested_at = clock()
        prompt = self.prompt(request, control)
        mask = self._mask(request, prompt)
        if self.prompt_cache:
            self.prompt_cache.prepare(prompt.tokens, request.stored)
        # A round evaluates the last token again, for its logits.
        cached = min(self.target.cached(prompt.tokens), len(prompt.tokens) - 1)
        stats = Stats(
            request.mode,
            prompt_tokens=len(prompt.tokens),
            cached_tokens=cached,
            draft=self._draft_name,
            engine=self._engine,
        )
        stats_builder = StatsBuilder(stats, self.target, self.draft, clock, requested_at)
        yield Prepared(len(prompt.tokens), cached, prompt.dropped)
        yield from map(Warned, prompt.warnings)

        answer = self._answer_builder(request, prompt, stats_builder, mask)
        rounds = self._rounds(request, prompt, control, mask, clock)
        with suppress(Cancelled):  # the end of an answer that nothing else has ended
            yield from prefill(self.target, "target", prompt.tokens[:-1])
            stats_builder.start_decoding()
            yield from self._decode(rounds, answer, request)
        yield from answer.finish()

    def _answer_builder(
        self, request: Request, prompt: ChatPrompt, stats: StatsBuilder, mask: ConstraintMask | None
    ) -> AnswerBuilder:
        call_reader = None
        if request.tools:
            from assistant.calling.reader import call_reader_of

            call_reader = call_reader_of(prompt.call_format, request)
        prefix = prompt.tokens[prompt.beginning.start :]
        suffix_start = request.infill.suffix_start if request.infill else ""
        stops = (*request.stop_strings, suffix_start) if suffix_start else request.stop_strings
        text = AnswerText(prompt.beginning, prefix, stops, call_reader)
        return AnswerBuilder(request, self.vocab, stats, text, mask)

    def _rounds(
        self,
        request: Request,
        prompt: ChatPrompt,
        control: Control,
        mask: ConstraintMask | None,
        clock: Clock,
    ) -> Rounds:
        forced = None if prompt.thoughts.budget is None else prompt.thoughts.forced_token
        available = self.sources
        if self.target.can_roll_back and request.prediction and not request.infill:
            from assistant.decoding.sources.edit import EditSource

            start, vocab = prompt.beginning.start, self.vocab
            edit = EditSource(request.prediction, start, vocab.piece, vocab.tokenize)
            available = {**available, edit.name: edit}
        if prompt.context and SuffixSource.name in available:
            infill = SuffixSource(prompt.context, len(prompt.tokens))
            available = {**available, infill.name: infill}
        sources = [available[name] for name in request.sources if name in available]
        if self.target.can_roll_back and (forced or mask):
            from assistant.engine.sources.certain import certain_sources

            sources = [*certain_sources(forced, mask), *sources]
        return Rounds(
            self.target,
            prompt.tokens,
            Cascade(*sources, mask=mask),
            rule_of(request),
            warp_of(request, control),
            control,
            self.controller,
            mask=mask,
            forced=forced,
            is_suggestion=bool(prompt.context),
            is_predicted=bool(request.prediction),
            limit=len(prompt.tokens) + request.max_tokens if request.max_tokens else None,
            clock=clock,
        )

    def _decode(
        self, rounds: Rounds, answer: AnswerBuilder, request: Request
    ) -> Iterator[AnswerEvent]:
        """Yield the events of all rounds until the answer ends."""
        for step in rounds:
            if not isinstance(step, PlannedRound):
                yield step
                continue
            yield answer.add(*step)
            if answer.stop is not None:
                return
            if MODEL in request.sources and self.deferred_draft and rounds.needs_draft(DRAFT_AFTER):
                yield from self._add_draft(rounds, answer)
        answer.stop = Stop.CONTEXT

    def _add_draft(self, rounds: Rounds, answer: AnswerBuilder) -> Iterator[Warned]:
        """Load the draft during an answer, and have it propose from the next round on."""
        try:
            if source := self.load_draft():
                answer.stats_builder.add_draft(source.model)
                rounds.add_draft(source)
        except ModelError as error:
            self.deferred_draft = None
            yield Warned(f"{error} The answer continues without the draft model.")

    def load_draft(self) -> ModelSource | None:
        """Load the draft if it was deferred, and return it; ModelError if it cannot be used.

        After `Cancelled`, it can be tried again.
        """
        if self.deferred_draft is None:
            return None
        source = self.deferred_draft()
        self.deferred_draft = None
        self.sources[source.name] = source
        return source

    def prefill_common_prefix(self, control: Control) -> None:
        """Prefill both models with the tokens that every conversation without settings begins with.

        The draft's prefill costs more than a short answer may lose, and its speed is measured here.
        A `SpecchatError` says that a model cannot evaluate, or that the template writes nothing.
        """
        either, other = (
            self.prompt(Request((Message("user", word),)), control).tokens for word in ("a", "the")
        )
        prefix = either[: common_prefix_length(either, other)]
        if prefix:
            self.target.logits(prefix, rows=0)
            for source in self.sources.values():
                if isinstance(source, ModelSource):
                    source.read(prefix)
                    prefill_draft(source, prefix, self.controller)

    def prompt(self, request: Request, control: Control) -> ChatPrompt:
        """Return the prompt of a request, with space for the answer; SpecchatError if none fits."""
        budget = request.prompt_budget(self.target.n_ctx)
        try:
            return self.chat.prompt(request, budget, control.cancel)
        except ContextFull as error:
            advice = " Or raise ctx (F6, --ctx)." if self.can_grow else ""
            raise ContextFull(f"{error}{advice}") from None

    def _mask(self, request: Request, prompt: ChatPrompt) -> ConstraintMask | None:
        """Return the mask of an answer that has a constraint or may call tools.

        The limits of enforcing a tool's schema are added to the prompt's warnings.
        """
        tokens, start = prompt.tokens, prompt.thoughts.answer_start
        if not request.tools:
            constraint = request.constraint
            return self._constraints.mask(constraint, tokens, start) if constraint else None
        markers, thinks = prompt.thought_markers, self.chat.thinking.thinks
        mask, limits = self._constraints.call_mask(
            prompt.call_format, request, tokens, start, markers, thinks
        )
        prompt.warnings.extend(limits)
        return mask

    @cached_property
    def _constraints(self) -> Constraints:
        from assistant.constraints.constraints import Constraints

        return Constraints(self.vocab, self.target.n_vocab)


def rule_of(request: Request) -> Rule:
    """Return the verification rule of a request, with its randomness.

    With a seed, the random numbers of each position are fixed. Without one, they come from a new
    generator.
    """
    if request.seed is not None:
        from assistant.decoding.rules.coupled import CoupledRule  # few answers have a seed

        return CoupledRule(request.seed)
    rng = np.random.default_rng()
    return BlockRule(rng) if request.rule == "block" else TokenRule(rng)


def warp_of(request: Request, control: Control) -> Warp:
    """Return a warp by the request's sampling, or by that of a later `UpdateRequest`."""
    return lambda logits, history: warp(logits, control.sampling or request.sampling, history)
