"""A request in, the events of its answers out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING

from assistant.chat.answer_text import AnswerText
from assistant.chat.prompt_tokens import ChatPrompt, ChatTokens
from assistant.decoding.lookahead.controller import TYPICAL_ANSWER, Controller
from assistant.decoding.model import Model
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Source
from assistant.decoding.sources.model import ModelSource
from assistant.engine.answer import AnswerBuilder
from assistant.engine.decoding_sequence import DecodingSequence, own_sources, rule_of, warp_of
from assistant.engine.figures import Clock, Figures, Stopwatch
from assistant.engine.policy import Control, Policy
from assistant.engine.resume import Resuming
from assistant.engine.rounds import MultiSequenceModel, Rounds, SequenceRound, prefill
from assistant.engine.sources.certain import Forced, ForcedSource, FormSource
from assistant.events import (
    Answered,
    AnswerEvent,
    BatchEvent,
    Decoded,
    Finished,
    Noticed,
    OneOf,
    Prepared,
    Stats,
    Stop,
)
from assistant.request import Request
from models.errors import Cancelled
from models.native.vocab import Vocab

if TYPE_CHECKING:  # few answers need the libraries of these
    from assistant.forms.forms import Forms, MakeMask
    from assistant.forms.mask import FormMask


IN_TURN = "This model holds one text at a time, so the answers come one after another."


class Assistant:
    """Answer requests with a target and its draft sources.

    Args:
        target: evaluates the answers.
        vocab: of the target.
        sources: propose; without any, every answer is autoregressive.
        controller: weighs proposals; without it, mode auto is autoregressive.
        several: the target, if it can hold several sequences in one batch.
        resuming: restores saved caches of conversations that the target has read before.
        draft_name: of the draft model, for the stats of answers.
        engine: the name of the inference library, for the stats of answers.
    """

    def __init__(
        self,
        target: Model,
        vocab: Vocab,
        sources: Sequence[Source] = (),
        controller: Controller | None = None,
        *,
        several: MultiSequenceModel | None = None,
        resuming: Resuming | None = None,
        draft_name: str | None = None,
        engine: str | None = None,
    ) -> None:
        self.target, self.vocab, self.controller = target, vocab, controller
        self.sources = {source.name: source for source in sources}
        self.several, self.resuming = several, resuming
        self._draft_name, self._engine = draft_name, engine
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
        for _, event in self._decoded(
            self.target, [self._sources(request)], request, control, clock
        ):
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
        together = self.several is not None and self.several.most_texts >= request.answers
        if self.several and together:
            own = [own_sources(self._sources(request)) for _ in range(request.answers)]
            answers = self._decoded(self.several, own, request, control, clock)
        else:
            answers = self._in_turn(request, control, clock)
        ends: list[Stats] = []
        for number, event in answers:
            yield OneOf(number, event) if isinstance(event, Decoded | Finished) else event
            if isinstance(event, Finished):
                ends.append(event.stats)
        # The longest of those that shared their rounds took part in all of them.
        over_all: Callable[[Iterable[float]], float] = max if together else sum
        rounds, decode_s = over_all(e.rounds for e in ends), over_all(e.decode_s for e in ends)
        yield Answered(int(rounds), sum(end.generated_tokens for end in ends), decode_s)

    def _in_turn(
        self, request: Request, control: Control, clock: Clock
    ) -> Iterator[tuple[int, AnswerEvent]]:
        yield 0, Noticed(IN_TURN)
        for i in range(request.answers):
            seed = None if request.seed is None else request.seed + i
            for event in self.reply(replace(request, answers=1, seed=seed), control, clock):
                yield i, event

    def _decoded(
        self,
        target: Model,
        sources: Sequence[Sequence[Source]],
        request: Request,
        control: Control,
        clock: Clock,
    ) -> Iterator[tuple[int, AnswerEvent]]:
        """Decode one answer for each list of draft sources; yield events with its number."""
        stopwatch = Stopwatch(self.target, self.draft, clock)
        prompt, form, stats = self._prepared(request, control)
        yield 0, Prepared(stats.prompt_tokens, stats.cached_tokens, prompt.dropped)
        yield from ((0, Noticed(remark)) for remark in prompt.remarks)
        sequences = [
            self._sequence(i, own, prompt, form, request, Figures(stats, stopwatch))
            for i, own in enumerate(sources)
        ]
        policy, warp = Policy(control, self.controller), warp_of(request, control)
        rounds, open_ = Rounds(target, sequences, policy, warp, clock), [*sequences]
        try:
            for progress in prefill(self.target, "target", prompt.tokens[:-1]):
                yield 0, progress  # a round reads the last one
            for sequence in sequences:
                sequence.answer.begin()
            for step in rounds:
                if isinstance(step, SequenceRound):
                    sequence, round_, forecast = step
                    yield sequence.number, sequence.answer.add(round_, forecast)
                    yield from _endings(open_)
                else:
                    yield 0, step
        except Cancelled:
            for sequence in open_:
                sequence.answer.stop = sequence.answer.stop or Stop.CANCELLED
        yield from _endings(open_)

    def _prepared(
        self, request: Request, control: Control
    ) -> tuple[ChatPrompt, MakeMask | None, Stats]:
        """Tokenise as many turns as fit, and prepare the target's cache for them.

        Return the prompt, what makes the masks of its answers if they have a form or may call
        tools, and what is known of these answers before they are decoded.

        Raises:
            Cancelled: the user stopped it before it began.
            SpecchatError: the answer cannot begin.
        """
        form = self._forms.mask(request.form) if request.form else None
        prompt = self.chat.prompt(request, self._room(request), control.cancel)
        tokens = prompt.tokens
        if request.tools:
            form, doubts = self._forms.calls(
                prompt.calls, request, prompt.thought, self.chat.thinks
            )
            prompt.remarks.extend(doubts)
        if self.several:
            self.several.settle(tokens)
        if self.resuming:
            self.resuming.begin(tokens, request.stored)
        stats = Stats(
            request.mode,
            prompt_tokens=len(tokens),
            cached_tokens=min(self.target.cached(tokens), len(tokens) - 1),
            draft=self._draft_name if request.answers == 1 else None,
            beside=request.answers - 1,
            engine=self._engine,
        )
        return prompt, form, stats

    def _sequence(
        self,
        number: int,
        sources: Sequence[Source],
        prompt: ChatPrompt,
        form: MakeMask | None,
        request: Request,
        figures: Figures,
    ) -> DecodingSequence:
        """Set up the decoding of one answer to a prompt."""
        # A snapshot is taken of the list that `Resuming.begin` was given: the first answer's.
        tokens = [*prompt.tokens] if number else prompt.tokens
        thoughts = prompt.thoughts()
        forced = None if thoughts.budget is None else thoughts.forced
        mask = form(tokens, thoughts.answer_start) if form else None
        calls = None
        if request.tools:
            from assistant.calling.reader import calls_of

            calls = calls_of(prompt.calls, request)
        begun = tokens[prompt.beginning.start :]
        text = AnswerText(prompt.beginning, begun, request.stop_strings, calls)
        answer = AnswerBuilder(request, self.vocab, figures, text, mask)
        drafter = self._drafter(sources, mask, forced)
        rule = rule_of(request, number)
        return DecodingSequence(number, tokens, answer, drafter, rule, mask, forced)

    @cached_property
    def _forms(self) -> Forms:
        from assistant.forms.forms import Forms

        return Forms(self.vocab, self.target.n_vocab)

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


def _endings(open_: list[DecodingSequence]) -> Iterator[tuple[int, Decoded | Finished]]:
    """Finish the answers that have stopped, and take them out of `open_`."""
    for sequence in [*open_]:
        if sequence.answer.stop is not None:
            open_.remove(sequence)
            for event in sequence.answer.finish():
                yield sequence.number, event
