"""One chat turn: a request in, events out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING

from assistant.calling.grammar import closed
from assistant.calling.reader import CallParts
from assistant.calling.wording import read_json
from assistant.chat.context import fit, without_hopeless
from assistant.chat.prompt_tokens import ChatTokens
from assistant.chat.thinking import PartReader
from assistant.chat.thought_end import AnswerStart
from assistant.decoding.lookahead.controller import TYPICAL_ANSWER, Controller
from assistant.decoding.lookahead.policy import Control, Policy
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Source
from assistant.decoding.sources.forced import Forced, ForcedSource
from assistant.decoding.sources.form import FormSource
from assistant.decoding.sources.model import ModelSource
from assistant.engine.answer import AnswerBuilder
from assistant.engine.decoding_sequence import DecodingSequence, own_sources, rule_of, warp_of
from assistant.engine.resume import Resuming
from assistant.engine.rounds import Rounds, SequenceRound, prefill
from assistant.engine.stopwatch import Clock, Stopwatch
from assistant.events import (
    Answered,
    Decoded,
    Finished,
    Noticed,
    OneOf,
    Prefilled,
    Prepared,
    Spoken,
    Stop,
    Told,
)
from assistant.request import Request
from models.base import Model, MultiSequenceModel, Vocab
from models.errors import Cancelled

if TYPE_CHECKING:
    from assistant.forms.forms import Forms
    from assistant.forms.mask import FormMask


class Assistant:
    """A target, its draft sources, and what has been learnt about them.

    Without sources every answer is autoregressive; without a controller, those of mode auto are.
    """

    def __init__(
        self,
        target: Model,
        vocab: Vocab,
        sources: Sequence[Source] = (),
        controller: Controller | None = None,
    ) -> None:
        self.target = target
        self.vocab = vocab
        self.sources = {source.name: source for source in sources}
        self.controller = controller
        self.resuming: Resuming | None = None
        """What brings back conversations that the target has read before."""
        self.several: MultiSequenceModel | None = None
        """The target, where it can hold several texts side by side."""
        self.draft_name: str | None = None
        """What the draft model is called, for the figures of answers."""
        self.engine: str | None = None
        """Which library computes, for the same."""
        self.chat = ChatTokens(vocab)
        """How conversations become tokens."""

    @property
    def draft(self) -> Model | None:
        """The draft model, if there is one."""
        sources = self.sources.values()
        return next((each.model for each in sources if isinstance(each, ModelSource)), None)

    def reply(
        self, request: Request, control: Control, clock: Clock = perf_counter
    ) -> Iterator[Spoken]:
        """Yield the events of one answer, `Prepared` first and `Finished` last.

        `control` may change the mode meanwhile, and stop the answer: what was decoded is kept, and
        the caches stay valid. All times are taken from `clock`.

        Raises:
            SpecchatError: the answer cannot begin, or cannot continue.
        """
        for event in self._decode(self.target, [self._sources(request)], request, control, clock):
            if isinstance(event, OneOf):
                yield event.event
            elif not isinstance(event, Answered):
                yield event

    def replies(
        self, request: Request, control: Control, clock: Clock = perf_counter
    ) -> Iterator[Told]:
        """Yield the events of several answers, decoded together; `Answered` comes last.

        They are numbered from 0. With a seed each is the answer that this seed and its number give.
        A model that holds one text at a time gives them one after another.

        Raises:
            SpecchatError: the answers cannot begin, or cannot continue.
        """
        if self.several is None or self.several.most_texts < request.answers:
            yield from self._in_turn(request, control, clock)
            return
        own = [[*own_sources(self._sources(request))] for _ in range(request.answers)]
        yield from self._decode(self.several, own, request, control, clock)

    def _decode(
        self,
        target: Model,
        sources: Sequence[Sequence[Source]],
        request: Request,
        control: Control,
        clock: Clock,
    ) -> Iterator[Told]:
        """Decode an answer from each of some `sources`."""
        stopwatch = Stopwatch(self.target, self.draft, clock)
        masked = self._masked(request)
        tokens, prepared = self._prompt(request)
        remarks = [*self.chat.remarks(request)]
        if self.chat.template.notice:
            remarks.insert(0, self.chat.template.notice)
        size = prepared.prompt_tokens, prepared.cached_tokens
        beginning = self.chat.beginning(request, tokens)
        if request.tools:
            thought = self.chat.thought_first(request, beginning)
            thinks = self.chat.markers is not None
            masked, doubts = self._all_forms.calls(self.chat.calls, request, thought, thinks)
            remarks += doubts
        yield prepared
        yield from map(Noticed, remarks)
        budget = self.chat.budget(request, beginning)
        forced = budget.forced if budget else None
        # the first has the tokens that a snapshot is to be of
        texts = [[*tokens] if i else tokens for i in range(len(sources))]
        masks = [masked(text, self.chat.answer_start(beginning)) for text in texts]
        answers = [
            AnswerBuilder(
                request,
                self.vocab,
                stopwatch,
                *size,
                PartReader(self.chat.markers, beginning.now),
                self.chat.mark_calls if request.tools else self.chat.mark,
                mask,
                self._call_parts(request),
            )
            for mask in masks
        ]
        if len(answers) == 1:
            answers[0].stats = replace(answers[0].stats, draft=self.draft_name)
        for answer in answers:
            answer.stats = replace(answer.stats, engine=self.engine)
        drafters = [
            self._drafter(each, mask, forced) for each, mask in zip(sources, masks, strict=True)
        ]
        sequences = [
            DecodingSequence(i, text, answer, drafter, rule_of(request, i), mask)
            for i, (text, answer, drafter, mask) in enumerate(
                zip(texts, answers, drafters, masks, strict=True)
            )
        ]
        policy, warp = Policy(control, self.controller), warp_of(request, control)
        rounds = Rounds(target, sequences, policy, warp, clock, forced)
        open_ = dict(enumerate(answers))
        try:
            yield from prefill(self.target, "target", tokens[:-1])  # the first round reads the last
            for answer in answers:
                answer.begin()
            for step in rounds:
                if isinstance(step, SequenceRound):
                    number = step.sequence.number
                    yield OneOf(number, answers[number].add(step.round, step.forecast))
                    yield from _endings(open_)
                else:
                    yield step
        except Cancelled:
            for answer in open_.values():
                answer.stop = answer.stop or Stop.CANCELLED
        yield from _endings(open_)
        generated = sum(answer.stats.generated_tokens for answer in answers)
        yield Answered(rounds.evaluations, generated, stopwatch.decode_s)

    def _in_turn(self, request: Request, control: Control, clock: Clock) -> Iterator[Told]:
        yield Noticed("This model holds one text at a time, so the answers come one after another.")
        rounds = tokens = 0
        decode_s = 0.0
        for i in range(request.answers):
            seed = None if request.seed is None else request.seed + i
            for event in self.reply(replace(request, answers=1, seed=seed), control, clock):
                if isinstance(event, Prepared | Prefilled | Noticed):
                    yield event
                if isinstance(event, Decoded | Finished):
                    yield OneOf(i, event)
                if isinstance(event, Finished):
                    rounds += event.stats.rounds
                    tokens += event.stats.generated_tokens
                    decode_s += event.stats.decode_s
        yield Answered(rounds, tokens, decode_s)

    def _prompt(self, request: Request) -> tuple[list[int], Prepared]:
        """Return the tokens of the prompt, as many turns of it as fit, and make the cache ready."""
        room = self._room(request)
        messages, hopeless = without_hopeless(request.messages, self.vocab.tokenize, room)
        variables = self.chat.variables(request)
        encode = partial(self.chat.encode, variables=variables, tools=request.tools)
        tokens, dropped = fit(messages, encode, room)
        if self.several:
            self.several.settle(tokens)
        if self.resuming:
            self.resuming.begin(tokens, request.stored)
        cached = min(self.target.cached(tokens), len(tokens) - 1)
        return tokens, Prepared(len(tokens), cached, hopeless + dropped)

    def _masked(self, request: Request) -> Callable[[list[int], AnswerStart], FormMask | None]:
        """Return what makes the mask of an answer, from its prompt and where it starts."""
        if request.form is None:
            return lambda tokens, start: None
        return self._all_forms.mask(request.form)

    @cached_property
    def _all_forms(self) -> Forms:
        from assistant.forms.forms import Forms  # with a library that few answers need

        return Forms(self.vocab, self.target.n_vocab)

    def _call_parts(self, request: Request) -> CallParts | None:
        """Return what tells the calls of an answer."""
        if not request.tools or request.tool_choice == "none":
            return None
        form = self.chat.calls
        return CallParts(
            replace(form, bare=form.bare and not request.form),
            {tool.name: closed(read_json(tool.parameters)) for tool in request.tools},
        )

    def _drafter(
        self, sources: Sequence[Source], mask: FormMask | None, forced: Forced | None
    ) -> Cascade:
        """Return what makes drafts; what is certain comes first."""
        own: list[Source] = []
        if self.target.can_roll_back:
            own += [ForcedSource(forced)] if forced else []
            own += [FormSource(mask)] if mask else []
        return Cascade(*own, *sources, mask=mask)

    def _sources(self, request: Request) -> list[Source]:
        return [self.sources[name] for name in request.sources if name in self.sources]

    def _room(self, request: Request) -> int:
        """Return how long a prompt may be, so that answers of some length fit after it."""
        n_ctx = self.target.n_ctx
        answers = request.answers * (request.max_tokens or TYPICAL_ANSWER)
        return n_ctx - min(answers, n_ctx // 4)


def _endings(open_: dict[int, AnswerBuilder]) -> Iterator[OneOf]:
    """Yield the last words of answers that have ended, which are open no more."""
    for number, answer in [*open_.items()]:
        if answer.stop is not None:
            del open_[number]
            for event in answer.finish():
                yield OneOf(number, event)
