"""The rounds of one answer: the two decoding loops take turns over one list of tokens."""

from collections.abc import Iterator, Sequence
from time import perf_counter

import numpy as np

from assistant.answer import Answer
from assistant.control import Control
from assistant.decoding import Round, autoregressive, speculative
from assistant.drafting.model import ModelDrafter
from assistant.events import Forecast, Noticed, Prefilled, Role
from assistant.lookahead.adaptive import AdaptiveLookahead
from assistant.lookahead.choice import Choice
from assistant.lookahead.policy import SHORT, lookahead
from assistant.request import Request
from assistant.warp import Row, warp
from models.base import Logits, Model
from models.errors import Cancelled, DraftFailed, ModelError

PREFILL_CHUNK = 256  # tokens between two signs of life


class Turn:
    """Decode an answer behind `tokens`, which grow with it."""

    def __init__(
        self,
        target: Model,
        drafter: ModelDrafter | None,
        adaptive: AdaptiveLookahead | None,
        request: Request,
        control: Control,
        tokens: list[int],
        answer: Answer,
    ) -> None:
        self._target, self._drafter, self._adaptive = target, drafter, adaptive
        self._request, self._control = request, control
        self._tokens, self._answer = tokens, answer
        self.forecast = Forecast("")
        """What is expected of speculation, and why the last round proposed what it did."""

    def rounds(self) -> Iterator[Round | Prefilled | Noticed]:
        """Yield rounds until the context is full, and what happens between them.

        Raises:
            Cancelled: somebody stopped it; `tokens` hold every whole round.
            ModelError: the target cannot go on.
        """
        k = 0
        rng = np.random.default_rng(self._seed)
        ars = sps = autoregressive(self._target, self._tokens, self._warp, rng)
        if self._drafter:
            sps = speculative(self._target, self._drafter, self._tokens, lambda: k, self._warp, rng)
        while len(self._tokens) < self._target.n_ctx:
            if self._control.cancel.raised:
                raise Cancelled
            k, reason = self._choice()
            self.forecast = self._adaptive.forecast(reason) if self._adaptive else Forecast(reason)
            try:
                if k and self._drafter and self._unread(self._drafter) > SHORT:
                    yield from self._prefill(self._drafter)
                yield self._timed(sps if k else ars)
            except DraftFailed as error:
                self._drafter = None
                yield Noticed(f"{error} The answer goes on without speculation.")

    @property
    def _seed(self) -> int | list[int] | None:
        """What the answer's randomness begins with: gone on with, it does not repeat itself."""
        seed = self._request.seed
        if seed is None or not self._request.continues:
            return seed
        return [seed, len(self._tokens)]

    def _warp(self, logits: Logits, history: Sequence[int]) -> Row:
        return warp(logits, self._control.sampling or self._request.sampling, history)

    def _timed(self, loop: Iterator[Round]) -> Round:
        started = perf_counter()
        round_ = next(loop)
        if self._adaptive:
            self._adaptive.observe(round_, perf_counter() - started, self._chosen)
        return round_

    @property
    def _chosen(self) -> bool:
        """Whether the lookahead in force is the program's choice, not the person's."""
        return self._control.mode == "auto" and self._control.lookahead is None

    def _choice(self) -> Choice:
        stats = self._answer.stats
        if self._drafter is None:
            return Choice(0, "there is no draft")
        if stats.generated_tokens == 0:
            return Choice(0, "the first token does not wait for the draft")
        seconds_a_token = stats.prefill_s / (stats.prompt_tokens - stats.cached_tokens)
        unread = self._unread(self._drafter)
        choice = lookahead(self._request, self._control, self._adaptive, unread, seconds_a_token)
        room = max(0, self._room(self._drafter))
        return Choice(min(choice.k, room), choice.reason)

    def _room(self, drafter: ModelDrafter) -> int:
        """Return how many tokens may be proposed, so that one more still fits behind them."""
        n_ctx = min(self._target.n_ctx, drafter.model.n_ctx)
        room = min(n_ctx - len(self._tokens) - 1, self._target.max_rows - 1)
        return min(room, self._answer.tokens_left - 1)

    def _unread(self, drafter: ModelDrafter) -> int:
        """Return how many tokens the draft has to read before it can propose."""
        return len(self._tokens) - drafter.model.cached(drafter.known(self._tokens))

    def _prefill(self, drafter: ModelDrafter) -> Iterator[Prefilled]:
        before = drafter.model.busy_s
        try:
            yield from prefill(drafter.model, "draft", drafter.known(self._tokens[:-1]))
        except ModelError as error:
            raise DraftFailed(str(error)) from error
        if self._adaptive and self._chosen:
            self._adaptive.charge(drafter.model.busy_s - before)


def prefill(model: Model, role: Role, tokens: Sequence[int]) -> Iterator[Prefilled]:
    """Read `tokens` in chunks, so that progress shows and a cancel is soon obeyed."""
    for start in range(model.cached(tokens), len(tokens), PREFILL_CHUNK):
        end = min(start + PREFILL_CHUNK, len(tokens))
        model.logits(tokens[:end], rows=0)
        yield Prefilled(role, end, len(tokens))
