"""One chat turn: a request in, events out."""

from collections.abc import Iterator, Sequence
from time import perf_counter

import numpy as np

from assistant.answer import Answer
from assistant.chat.context import fit
from assistant.chat.tokens import ChatTokens
from assistant.control import Control
from assistant.decoding import Round, autoregressive, speculative
from assistant.drafting.model import ModelDrafter
from assistant.events import Event, Prefilled, Prepared, Role, Stop
from assistant.lookahead.adaptive import AdaptiveLookahead
from assistant.lookahead.policy import SHORT, TYPICAL_ANSWER, lookahead
from assistant.request import Request
from assistant.warp import Row, warp
from models.base import Logits, Model, Vocab
from models.errors import Cancelled

PREFILL_CHUNK = 256  # tokens between two signs of life


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

    def reply(self, request: Request, control: Control) -> Iterator[Event]:
        """Yield the events of one answer, `Prepared` first and `Finished` last.

        `control` may change the mode meanwhile, and stop the answer: what was decoded is kept, and
        the caches stay valid.

        Raises:
            SpecchatError: the answer cannot begin, or cannot go on.
        """
        requested = perf_counter()
        tokens, dropped = fit(request.messages, self._chat.encode, self._room(request))
        cached = min(self.target.cached(tokens), len(tokens) - 1)
        yield Prepared(len(tokens), cached, dropped, self._chat.template.notice)
        answer = Answer(request, self.vocab, requested, len(tokens), cached)
        try:
            yield from prefill(self.target, "target", tokens[:-1])  # the first round reads the last
            answer.begin()
            for step in self._decode(tokens, answer, request, control):
                yield answer.add(step, len(tokens)) if isinstance(step, Round) else step
                if answer.stop is not None:
                    break
        except Cancelled:
            answer.stop = Stop.CANCELLED
        yield from answer.finish(len(tokens))

    def _room(self, request: Request) -> int:
        """Return how long a prompt may be, so that an answer of some length fits behind it."""
        n_ctx = self.target.n_ctx
        return n_ctx - min(request.max_tokens or TYPICAL_ANSWER, n_ctx // 4)

    def _decode(
        self, tokens: list[int], answer: Answer, request: Request, control: Control
    ) -> Iterator[Round | Prefilled]:
        """Let the two loops take turns, as the mode in force says before each round."""

        def warped(logits: Logits, history: Sequence[int]) -> Row:
            return warp(logits, request.sampling, history)

        k = 0
        rng = np.random.default_rng(request.seed)
        ars = autoregressive(self.target, tokens, warped, rng)
        sps = self.drafter and speculative(
            self.target, self.drafter, tokens, lambda: k, warped, rng
        )
        while len(tokens) < self.target.n_ctx:
            if control.cancel:
                raise Cancelled
            k = self._lookahead(request, control, answer, tokens)
            if k and self.drafter and self._unread(tokens) > SHORT:
                yield from self._prefill_draft(self.drafter, tokens)
            started = perf_counter()
            round_ = next(sps if k and sps else ars)
            if self.adaptive:
                self.adaptive.observe(round_, perf_counter() - started)
            yield round_
        answer.stop = Stop.CONTEXT

    def _lookahead(
        self, request: Request, control: Control, answer: Answer, tokens: list[int]
    ) -> int:
        if self.drafter is None or answer.stats.generated_tokens == 0:
            return 0  # the first token does not wait for the draft to read the prompt
        evaluated = answer.stats.prompt_tokens - answer.stats.cached_tokens
        wanted = lookahead(
            request,
            control,
            self.adaptive,
            self._unread(tokens),
            answer.stats.prefill_s / evaluated,
        )
        room = min(self.target.n_ctx - len(tokens), self.target.max_rows - 1)
        return max(0, min(wanted, room, answer.tokens_left - 1))

    def _unread(self, tokens: Sequence[int]) -> int:
        """Return how many tokens the draft has to read before it can propose."""
        return len(tokens) - self.drafter.model.cached(tokens) if self.drafter else 0

    def _prefill_draft(self, drafter: ModelDrafter, tokens: Sequence[int]) -> Iterator[Prefilled]:
        started = perf_counter()
        yield from prefill(drafter.model, "draft", drafter.known(tokens[:-1]))
        if self.adaptive:
            self.adaptive.charge(perf_counter() - started)


def prefill(model: Model, role: Role, tokens: Sequence[int]) -> Iterator[Prefilled]:
    """Read `tokens` in chunks, so that progress shows and a cancel is soon obeyed."""
    for start in range(model.cached(tokens), len(tokens), PREFILL_CHUNK):
        end = min(start + PREFILL_CHUNK, len(tokens))
        model.logits(tokens[:end], rows=0)
        yield Prefilled(role, end, len(tokens))
