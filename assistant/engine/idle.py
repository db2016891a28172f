"""What the engine does while nobody waits: read what will be asked about, and look at costs.

It is exact because the cache is only a cache, and it ends as soon as another job waits.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from time import perf_counter

from assistant.decoding.model import Model
from assistant.decoding.sources.model import ModelSource
from assistant.engine.policy import Control
from assistant.engine.reply import Assistant
from assistant.engine.rounds import SILENT_PREFILL
from assistant.events import Prefilled
from assistant.request import Request
from models.base import common_prefix
from models.errors import Cancelled

PIECE_S = 0.04
"""Seconds that an evaluation is to take: a job that comes meanwhile waits for no more than it."""
FIRST_PIECE, LARGEST_PIECE = 4, 256
"""Tokens."""


def read_ahead(
    assistant: Assistant,
    request: Request,
    control: Control,
    clock: Callable[[], float] = perf_counter,
) -> Iterator[Prefilled]:
    """Read what the answer to a request will begin with; yield how far the target is.

    The last message may be unfinished: what comes after it is not read. The draft follows, and then
    costs are measured until they are certain.

    Raises:
        Cancelled: another job waits; what was read stays cached.
        ModelError: a model cannot evaluate.
    """
    if assistant.target.can_roll_back and assistant.target.rollback is None:
        tokens = _certain_tokens(assistant, request, control)
        if assistant.resuming:
            assistant.resuming.begin(tokens, request.stored)
        is_short = len(tokens) - assistant.target.cached(tokens) <= SILENT_PREFILL
        for read in _read(assistant.target, tokens, control, clock):
            if not is_short:
                yield Prefilled("target", read, len(tokens))
        for source in assistant.sources.values():
            if isinstance(source, ModelSource):
                source.read(tokens)
                for _ in _read(source.model, source.seen(tokens), control, clock):
                    pass
    while assistant.learnt and not assistant.learnt.look_again():
        _give_way(control)


def _certain_tokens(assistant: Assistant, request: Request, control: Control) -> list[int]:
    """Return the tokens that a prompt begins with, however its last message goes on."""
    *before, last = request.messages
    ends = [replace(last, content=last.content + more) for more in ("", " and more")]
    prompt, other = (
        assistant.prompt(replace(request, messages=(*before, end)), control).tokens for end in ends
    )
    return prompt[: common_prefix(prompt, other)]


def _read(
    model: Model, tokens: Sequence[int], control: Control, clock: Callable[[], float]
) -> Iterator[int]:
    """Read tokens in pieces that take about `PIECE_S`; yield how many the model has read."""
    piece, end = FIRST_PIECE, model.cached(tokens)
    while end < len(tokens):
        _give_way(control)
        started, begun = clock(), end
        end = min(begun + piece, len(tokens))
        model.logits(tokens[:end], rows=0)
        pace = PIECE_S / max(clock() - started, 1e-6)
        piece = min(max(1, int(piece * min(pace, 2.0))), LARGEST_PIECE)
        yield end


def _give_way(control: Control) -> None:
    if control.cancel.raised:
        raise Cancelled
