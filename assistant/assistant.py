"""One chat turn: a request in, events out."""

from collections.abc import Iterator
from time import perf_counter

from assistant.answer import Answer
from assistant.chat.context import fit, without_hopeless
from assistant.chat.tokens import ChatTokens
from assistant.control import Control
from assistant.decoding import Round
from assistant.drafting.model import ModelDrafter
from assistant.events import Noticed, Prepared, Spoken, Stop
from assistant.lookahead.adaptive import AdaptiveLookahead
from assistant.lookahead.policy import TYPICAL_ANSWER
from assistant.request import Request
from assistant.stopwatch import Clock, Stopwatch
from assistant.turn import Turn, prefill
from models.base import Model, Vocab
from models.errors import Cancelled


class Assistant:
    """A target, maybe a drafter, and what has been learnt about the two.

    Without a drafter every answer is autoregressive; without `adaptive`, those of mode auto are.
    """

    def __init__(
        self,
        target: Model,
        vocab: Vocab,
        drafter: ModelDrafter | None = None,
        adaptive: AdaptiveLookahead | None = None,
    ) -> None:
        self.target = target
        self.vocab = vocab
        self.drafter = drafter
        self.adaptive = adaptive
        self._chat = ChatTokens(vocab)

    def reply(
        self, request: Request, control: Control, clock: Clock = perf_counter
    ) -> Iterator[Spoken]:
        """Yield the events of one answer, `Prepared` first and `Finished` last.

        `control` may change the mode meanwhile, and stop the answer: what was decoded is kept, and
        the caches stay valid. All times are taken from `clock`.

        Raises:
            SpecchatError: the answer cannot begin, or cannot go on.
        """
        draft = self.drafter.model if self.drafter else None
        stopwatch = Stopwatch(self.target, draft, clock)
        room = self._room(request)
        messages, hopeless = without_hopeless(request.messages, self.vocab.tokenize, room)
        tokens, dropped = fit(messages, self._chat.encode, room)
        cached = min(self.target.cached(tokens), len(tokens) - 1)
        yield Prepared(len(tokens), cached, hopeless + dropped)
        if self._chat.template.notice:
            yield Noticed(self._chat.template.notice)
        answer = Answer(request, self.vocab, stopwatch, len(tokens), cached)
        turn = Turn(self.target, self.drafter, self.adaptive, request, control, tokens, answer)
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
