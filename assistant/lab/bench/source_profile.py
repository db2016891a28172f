"""Judge draft sources along an answer that is given: what they would have proposed, and its worth.

Every place is looked at, not those alone that some lookahead happened to reach, so that any other
lookahead can be replayed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from assistant.decoding.lookahead.policy import Control
from assistant.decoding.row import Row
from assistant.decoding.sources.draft import Source
from assistant.decoding.warp import COLDEST, one_hot, warp
from assistant.lab.bench.events import Judged, Profile
from assistant.request import Sampling
from models.base import Logits, Model
from models.errors import Cancelled

NO_PROPOSAL = -1


def profile(
    target: Model,
    sources: Sequence[Source],
    prompt: Sequence[int],
    answer: Sequence[int],
    sampling: Sampling,
    control: Control,
) -> Profile:
    """Return what `sources` propose at each place of an answer, and how likely it is accepted.

    Raises:
        Cancelled: somebody stopped it.
        ModelError: a model cannot go on.
    """
    tokens = [*prompt, *answer]
    found: dict[str, list[tuple[float, int]]] = {source.name: [] for source in sources}
    margins: list[int | None] = []
    rows = _rows(target, tokens, len(prompt), sampling)
    for place, row in enumerate(rows, start=len(prompt)):
        if control.cancel.raised:
            raise Cancelled
        margins.append(row.margin)
        for source in sources:
            found[source.name].append(_judge(source, tokens[:place], row, sampling))
    judged = {
        name: Judged(tuple(odds for odds, _ in places), tuple(seen for _, seen in places))
        for name, places in found.items()
    }
    return Profile(tuple(tokens), len(prompt), judged, tuple(margins))


def _judge(
    source: Source, context: list[int], target_row: Row, sampling: Sampling
) -> tuple[float, int]:
    """Return the overlap and the evidence of a proposal behind `context`."""
    source.read(context)
    if source.offer(context, 1) is None:
        return NO_PROPOSAL, NO_PROPOSAL

    def warped(logits: Logits, history: Sequence[int]) -> Row:
        return warp(logits, sampling, history)

    row, evidence = source.row(context, warped)
    return target_row.overlap(row), evidence


def _rows(target: Model, tokens: Sequence[int], start: int, sampling: Sampling) -> Iterator[Row]:
    """Yield the target's row of every place from `start` on."""
    is_cold = sampling.temperature < COLDEST  # then the answer tells it, whatever the width
    for first in range(start, len(tokens), target.max_rows):
        end = min(first + target.max_rows, len(tokens))
        logits = target.logits(tokens[: end - 1], rows=end - first).copy()
        for place, each in enumerate(logits, start=first):
            row = warp(each, sampling, tokens[:place])
            yield replace(one_hot(tokens[place]), margin=row.margin) if is_cold else row
