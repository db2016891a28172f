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

PIECE_S = 0.25
"""Seconds that an evaluation is to take: a job that comes meanwhile waits for it where it cannot be
aborted, and has the use of it if it is about the same text. A 1.5B on two cores reads 24 tokens in
them, at 90 % of its full speed; 12 at 80 %, 4 at 60 %."""
LARGEST_PIECE = 256  # tokens


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
        for piece in _read(target, tokens[:-1], assistant.piece, clock):
            if piece.end < len(tokens) - 1:  # the last one is short, and tells little
                assistant.piece = piece.next_size
            if not is_short:
                yield Prefilled("target", piece.end, len(tokens))
        for source in assistant.sources.values():
            if isinstance(source, ModelSource):
                source.read(tokens)
                seen = source.seen(tokens[:-1])
                for piece in _read(source.model, seen, assistant.piece, clock):
                    if learnt:
                        learnt.costs.saw_draft(piece.tokens, piece.seconds)
    while learnt and not learnt.look_again():
        pass


class Piece(NamedTuple):
    """A part of a text that was read at once."""

    tokens: int
    seconds: float
    end: int  # how many tokens of the text are read now

    @property
    def next_size(self) -> int:
        """How many tokens are likely to take `PIECE_S`; at most twice as many as these."""
        size = int(self.tokens * min(PIECE_S / max(self.seconds, 1e-6), 2.0))
        return min(max(1, size), LARGEST_PIECE)


def _read(
    model: Model, tokens: Sequence[int], size: int, clock: Callable[[], float]
) -> Iterator[Piece]:
    """Read tokens in pieces that take about `PIECE_S`; the first one is of `size`."""
    end = model.cached(tokens)
    while end < len(tokens):
        started, begun = clock(), end
        end = min(begun + size, len(tokens))
        model.logits(tokens[:end], rows=0)
        piece = Piece(end - begun, clock() - started, end)
        yield piece
        size = piece.next_size
