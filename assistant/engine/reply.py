"""One chat turn: a request in, events out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from assistant.calling.arguments import closed
from assistant.calling.reader import CallReader
from assistant.calling.wording import read_json
from assistant.chat.answer_text import AnswerText
from assistant.chat.context import drop_oversized, fit
from assistant.chat.prompt_tokens import ChatTokens
from assistant.decoding.lookahead.controller import TYPICAL_ANSWER, Controller
from assistant.decoding.model import Model
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Source
from assistant.decoding.sources.model import ModelSource
from assistant.engine.answer import AnswerBuilder
from assistant.engine.decoding_sequence import DecodingSequence, own_sources, rule_of, warp_of
from assistant.engine.policy import Control, Policy
from assistant.engine.resume import Resuming
from assistant.engine.rounds import MultiSequenceModel, Rounds, SequenceRound, prefill
from assistant.engine.sources.certain import Forced, ForcedSource, FormSource
from assistant.engine.stopwatch import Clock, Stopwatch
from assistant.events import (
    Answered,
    AnswerEvent,
    BatchEvent,
    Decoded,
    Finished,
    Noticed,
    OneOf,
    Prefilled,
    Prepared,
    Stats,
    Stop,
)
from assistant.request import Message, Request
from models.errors import Cancelled
from models.native.vocab import Vocab

if TYPE_CHECKING:
    from assistant.forms.forms import Forms, MakeMask
    from assistant.forms.mask import FormMask


class PreparedPrompt(NamedTuple):
    """The prompt of a request, ready to be read, and what is known of its answers before."""

    tokens: list[int]
    prepared: Prepared
    remarks: list[str]  # what of the request cannot be done, in sentences
    form: MakeMask | None  # of the answers, if they have a form or may call tools


class Assistant:
    """Answer requests with a target and its draft sources.

    Without sources every answer is autoregressive; without a controller, so is mode auto.
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
        """Restores saved caches of conversations that the target has read before."""
        self.several: MultiSequenceModel | None = None
        """The target, if it can hold several sequences in one batch."""
        self.draft_name: str | None = None
        """The draft model's name, for the stats of answers."""
        self.engine: str | None = None
        """The name of the inference library, for the stats of answers."""
        self.chat = ChatTokens(vocab)
        """Tokenises conversations as the target's chat template writes them."""

    @property
    def draft(self) -> Model | None:
        """The draft model, if there is one."""
        sources = self.sources.values()
        return next((each.model for each in sources if isinstance(each, ModelSource)), None)

    def reply(
        self, request: Request, control: Control, clock: Clock = perf_counter
    ) -> Iterator[AnswerEvent]:
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
    ) -> Iterator[BatchEvent]:
        """Yield the events of several answers to one request; `Answered` comes last.

        Answers are numbered from 0. With a seed, answer i equals a single answer with `seed + i`.
        A target that holds one sequence at a time gives them one after another.

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
    ) -> Iterator[BatchEvent]:
        """Decode one answer for each list of draft sources."""
        stopwatch = Stopwatch(self.target, self.draft, clock)
        prompt = self._prompt(request, control)
        yield prompt.prepared
        yield from map(Noticed, prompt.remarks)
        sequences = [
            self._sequence(number, own, prompt, request, stopwatch)
            for number, own in enumerate(sources)
        ]
        policy, warp = Policy(control, self.controller), warp_of(request, control)
        rounds, open_ = Rounds(target, sequences, policy, warp, clock), [*sequences]
        try:
            yield from prefill(self.target, "target", prompt.tokens[:-1])  # a round reads the last
            for sequence in sequences:
                sequence.answer.begin()
            for step in rounds:
                if isinstance(step, SequenceRound):
                    answer = step.sequence.answer
                    yield OneOf(step.sequence.number, answer.add(step.round, step.forecast))
                    yield from _endings(open_)
                else:
                    yield step
        except Cancelled:
            for sequence in open_:
                sequence.answer.stop = sequence.answer.stop or Stop.CANCELLED
        yield from _endings(open_)
        generated = sum(each.answer.stats.generated_tokens for each in sequences)
        yield Answered(rounds.evaluations, generated, stopwatch.decode_s)

    def _prompt(self, request: Request, control: Control) -> PreparedPrompt:
        """Tokenise as many turns as fit, and prepare the target's cache for them.

        Raises:
            Cancelled: the user stopped it between the tokenising of two turns.
            SpecchatError: the answer cannot begin.
        """
        form = self._forms.mask(request.form) if request.form else None
        room = self._room(request)
        messages, oversized = drop_oversized(request.messages, self.vocab.tokenize, room)
        variables = self.chat.variables(request)
        whole = partial(self.chat.encode, variables=variables, tools=request.tools)

        def turn(messages: Sequence[Message]) -> list[int]:
            if control.cancel.raised:
                raise Cancelled("Stopped before it began.")
            return self.chat.encode(messages, variables)

        tokens, dropped = fit(messages, whole, room, turn)
        remarks = [*self.chat.remarks(request)]
        if request.tools:
            thought = self.chat.thought_first(request, self.chat.beginning(request, tokens))
            form, doubts = self._forms.calls(self.chat.calls, request, thought, self.chat.thinks)
            remarks += doubts
        if self.several:
            self.several.settle(tokens)
        if self.resuming:
            self.resuming.begin(tokens, request.stored)
        cached = min(self.target.cached(tokens), len(tokens) - 1)
        return PreparedPrompt(
            tokens, Prepared(len(tokens), cached, oversized + dropped), remarks, form
        )

    def _sequence(
        self,
        number: int,
        sources: Sequence[Source],
        prompt: PreparedPrompt,
        request: Request,
        stopwatch: Stopwatch,
    ) -> DecodingSequence:
        """Set up the decoding of one answer to a prompt."""
        # A snapshot is taken of the list that `Resuming.begin` was given: the first answer's.
        tokens = [*prompt.tokens] if number else prompt.tokens
        beginning = self.chat.beginning(request, tokens)
        thoughts = self.chat.thoughts(request, beginning)
        forced = None if thoughts.budget is None else thoughts.forced
        mask = prompt.form(tokens, thoughts.answer_start) if prompt.form else None
        stats = Stats(
            request.mode,
            prompt_tokens=prompt.prepared.prompt_tokens,
            cached_tokens=prompt.prepared.cached_tokens,
            draft=self.draft_name if request.answers == 1 else None,
            beside=request.answers - 1,
            engine=self.engine,
        )
        begun, stops = tokens[beginning.start :], request.stop_strings
        text = AnswerText(beginning, begun, stops, self._calls(request))
        answer = AnswerBuilder(request, self.vocab, stopwatch, stats, text, mask)
        drafter = self._drafter(sources, mask, forced)
        rule = rule_of(request, number)
        return DecodingSequence(number, tokens, answer, drafter, rule, mask, forced)

    def _in_turn(self, request: Request, control: Control, clock: Clock) -> Iterator[BatchEvent]:
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

    @cached_property
    def _forms(self) -> Forms:
        from assistant.forms.forms import Forms  # with a library that few answers need

        return Forms(self.vocab, self.target.n_vocab)

    def _calls(self, request: Request) -> CallReader | None:
        """Return what reads the calls of an answer; None where it must not have any."""
        if not request.tools or request.tool_choice == "none":
            return None
        form = self.chat.calls
        return CallReader(
            replace(form, bare=form.bare and not request.form),
            {tool.name: closed(read_json(tool.parameters)) for tool in request.tools},
            [call.id for each in request.messages[-1:] for call in each.calls],
        )

    def _drafter(
        self, sources: Sequence[Source], mask: FormMask | None, forced: Forced | None
    ) -> Cascade:
        """Return the cascade of an answer's draft sources, those that are never wrong first."""
        own: list[Source] = []
        if self.target.can_roll_back:
            own += [ForcedSource(forced)] if forced else []
            own += [FormSource(mask)] if mask else []
        return Cascade(*own, *sources, mask=mask)

    def _sources(self, request: Request) -> list[Source]:
        return [self.sources[name] for name in request.sources if name in self.sources]

    def _room(self, request: Request) -> int:
        """Return the most tokens that a prompt may have, to leave room for the answers."""
        n_ctx = self.target.n_ctx
        answers = request.answers * (request.max_tokens or TYPICAL_ANSWER)
        return n_ctx - min(answers, n_ctx // 4)


def _endings(open_: list[DecodingSequence]) -> Iterator[OneOf]:
    """Finish the answers that have stopped, and take them out of `open_`."""
    for sequence in [*open_]:
        if sequence.answer.stop is not None:
            open_.remove(sequence)
            for event in sequence.answer.finish():
                yield OneOf(sequence.number, event)
