"""Work of an idle engine: the prefill of a request that may come, and measurements.

It changes no answer, because the KV cache is only a cache; and any other job stops it.
"""

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

from assistant.decoding.model import Model
from assistant.decoding.sources.model import ModelSource
from assistant.engine.control import Control
from assistant.engine.reply import Assistant
from assistant.engine.rounds import SILENT_PREFILL
from assistant.events import Prefilled
from assistant.request import Request

CHUNK_S = 0.25
"""Seconds of one evaluation. A job that comes meanwhile waits for it if it cannot be aborted, and
benefits from it if it has the same prompt. A 1.5B on two cores evaluates 24 tokens in them, at 90 %
of its full speed; 12 at 80 %, 4 at 60 %."""
LARGEST_CHUNK = 256  # tokens


def prefill_idle(assistant: Assistant, request: Request, control: Control) -> Iterator[Prefilled]:
    """Prefill the prompt of a request that may still change; yield the target's progress.

    The draft follows, after it is loaded if that was deferred, and then costs are measured until
    they are certain. If the text is continued, the few tokens after it in the prompt are evaluated
    in vain. `Cancelled` says that another job waits; the evaluated tokens stay cached.
    """
    target, profile = assistant.target, assistant.profile
    if target.can_roll_back and target.rollback is None:
        tokens = assistant.prompt(request, control).tokens
        if assistant.prompt_cache:
            assistant.prompt_cache.prepare(tokens, request.stored)
        is_short = len(tokens) - target.cached(tokens) <= SILENT_PREFILL
        for chunk in _prefill(target, tokens[:-1], assistant.chunk):
            if chunk.end < len(tokens) - 1:  # the last one is too short to adapt to
                assistant.chunk = chunk.next_size
            if not is_short:
                yield Prefilled("target", chunk.end, len(tokens))
        assistant.load_draft()
        for source in assistant.sources.values():
            if isinstance(source, ModelSource):
                source.read(tokens)
                seen = source.window_tokens(tokens[:-1])
                for chunk in _prefill(source.model, seen, assistant.chunk):
                    if profile:
                        profile.costs.draft.observe(chunk.tokens, chunk.seconds)
    while profile and not profile.refine():
        pass


class Chunk(NamedTuple):
    """Tokens that were evaluated in one batch."""

    tokens: int
    seconds: float
    end: int  # how many tokens of the prompt are cached now

    @property
    def next_size(self) -> int:
        """Tokens that would take `CHUNK_S` at this speed; at most twice as many as these."""
        size = int(self.tokens * min(CHUNK_S / max(self.seconds, 1e-6), 2.0))
        return min(max(1, size), LARGEST_CHUNK)


def _prefill(
    model: Model, tokens: Sequence[int], size: int, clock: Callable[[], float] = perf_counter
) -> Iterator[Chunk]:
    """Evaluate tokens in chunks of about `CHUNK_S`; the first one has `size` tokens."""
    end = model.cached(tokens)
    while end < len(tokens):
        started, start = clock(), end
        end = min(start + size, len(tokens))
        model.logits(tokens[:end], rows=0)
        chunk = Chunk(end - start, clock() - started, end)
        yield chunk
        size = chunk.next_size
