"""One chat turn: a request in, events out."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter

from assistant.answer import Answer
from assistant.chat.context import fit, without_hopeless
from assistant.chat.tokens import ChatTokens
from assistant.control import Control
from assistant.decoding import Round
from assistant.drafting.draft import Source
from assistant.drafting.model import ModelSource
from assistant.events import Noticed, Prepared, Spoken, Stop
from assistant.lookahead.controller import TYPICAL_ANSWER, Controller
from assistant.request import Request
from assistant.resuming import Resuming
from assistant.stopwatch import Clock, Stopwatch
from assistant.turn import Turn, prefill
from models.base import Model, Vocab
from models.errors import Cancelled


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
        self.draft_name: str | None = None
        """What the draft model is called, for the figures of answers."""
        self._chat = ChatTokens(vocab)

    @property
    def draft(self) -> Model | None:
        """The draft model, if there is one."""
        source = self.sources.get(ModelSource.name)
        return source.model if isinstance(source, ModelSource) else None

    def reply(
        self, request: Request, control: Control, clock: Clock = perf_counter
    ) -> Iterator[Spoken]:
        """Yield the events of one answer, `Prepared` first and `Finished` last.

        `control` may change the mode meanwhile, and stop the answer: what was decoded is kept, and
        the caches stay valid. All times are taken from `clock`.

        Raises:
            SpecchatError: the answer cannot begin, or cannot go on.
        """
        stopwatch = Stopwatch(self.target, self.draft, clock)
        room = self._room(request)
        messages, hopeless = without_hopeless(request.messages, self.vocab.tokenize, room)
        tokens, dropped = fit(messages, self._chat.encode, room)
        if self.resuming:
            self.resuming.begin(tokens, request.stored)
        cached = min(self.target.cached(tokens), len(tokens) - 1)
        yield Prepared(len(tokens), cached, hopeless + dropped)
        if self._chat.template.notice:
            yield Noticed(self._chat.template.notice)
        answer = Answer(request, self.vocab, stopwatch, len(tokens), cached)
        answer.stats = replace(answer.stats, draft=self.draft_name)
        sources = [self.sources[name] for name in request.sources if name in self.sources]
        turn = Turn(self.target, sources, self.controller, request, control, tokens, answer)
        try:
            yield from prefill(self.target, "target", tokens[:-1])  # the first round reads the last
            answer.begin()
            for step in turn.rounds():
                yield answer.add(step, turn.forecast) if isinstance(step, Round) else step
                if answer.stop is not None:
                    break
            else:
                answer.stop = Stop.CONTEXT
        except Cancelled:
            answer.stop = Stop.CANCELLED
        yield from answer.finish()

    def _room(self, request: Request) -> int:
        """Return how long a prompt may be, so that an answer of some length fits behind it."""
        n_ctx = self.target.n_ctx
        return n_ctx - min(request.max_tokens or TYPICAL_ANSWER, n_ctx // 4)
