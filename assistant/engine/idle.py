"""What the engine does while nobody waits: read what will be asked about, and look at costs.

It is exact because the cache is only a cache, and it ends as soon as another job waits.
"""

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import NamedTuple

from assistant.decoding.model import Model
from assistant.decoding.sources.model import ModelSource
from assistant.engine.policy import Control
from assistant.engine.reply import Assistant
from assistant.engine.rounds import SILENT_PREFILL
from assistant.events import Prefilled
from assistant.request import Request

PIECE_S = 0.125
"""Seconds that an evaluation is to take: a job that comes meanwhile waits for it where it cannot be
aborted, and has the use of it if it is about the same text. A 1.5B on two cores reads 8 to 16
tokens in them, at 80 to 95 % of its full speed; 4 tokens at a time, at 60 %."""
FIRST_PIECE, LARGEST_PIECE = 4, 256
"""Tokens."""


def read_ahead(
    assistant: Assistant,
    request: Request,
    control: Control,
    clock: Callable[[], float] = perf_counter,
) -> Iterator[Prefilled]:
    """Read the prompt of a request that may still change; yield how far the target is.

    The draft follows, and then costs are measured until they are certain. Where the text goes on,
    the few tokens that end a prompt have been read in vain.

    Raises:
        Cancelled: another job waits; what was read stays cached.
        ModelError: a model cannot evaluate.
    """
    target, learnt = assistant.target, assistant.learnt
    if target.can_roll_back and target.rollback is None:
        tokens = assistant.prompt(request, control).tokens
        if assistant.resuming:
            assistant.resuming.begin(tokens, request.stored)
        is_short = len(tokens) - target.cached(tokens) <= SILENT_PREFILL
        for piece in _read(target, tokens[:-1], clock):
            if not is_short:
                yield Prefilled("target", piece.end, len(tokens))
        for source in assistant.sources.values():
            if isinstance(source, ModelSource):
                source.read(tokens)
                for piece in _read(source.model, source.seen(tokens[:-1]), clock):
                    if learnt:
                        learnt.costs.saw_draft(piece.tokens, piece.seconds)
    while learnt and not learnt.look_again():
        pass


class Piece(NamedTuple):
    """A part of a text that was read at once."""

    tokens: int
    seconds: float
    end: int
    """How many tokens of the text are read now."""


def _read(model: Model, tokens: Sequence[int], clock: Callable[[], float]) -> Iterator[Piece]:
    """Read tokens in pieces that take about `PIECE_S`."""
    size, end = FIRST_PIECE, model.cached(tokens)
    while end < len(tokens):
        started, begun = clock(), end
        end = min(begun + size, len(tokens))
        model.logits(tokens[:end], rows=0)
        seconds = clock() - started
        yield Piece(end - begun, seconds, end)
        size = min(max(1, int(size * min(PIECE_S / max(seconds, 1e-6), 2.0))), LARGEST_PIECE)
