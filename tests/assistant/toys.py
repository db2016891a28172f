"""Draft sources for the exactness tests, each with another way of ending a draft."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from assistant.drafting.draft import Draft
from assistant.drafting.model import ModelDrafter
from assistant.sampling import draw
from assistant.warp import EMPTY, Row, one_hot
from tests.exact import Toy, row_of

THRESHOLD = Fraction(1, 3)


class Stepwise:
    """Propose one position at a time: `row` gives the row of the next one, EMPTY to end there.

    A row of mass below 1 ends the draft with the probability that it lacks.
    """

    source = "toy"

    def __init__(self, model: Toy) -> None:
        self.model = model

    def row(self, context: Sequence[int], warp: Callable[[Any, Sequence[int]], Row]) -> Row:
        return warp(self.model.logits(context)[0], context)

    def propose(self, tokens: Sequence[int], k: int, warp: Any, rng: Any) -> Draft:
        context, rows = list(tokens), list[Row]()
        for _ in range(k):
            row = self.row(context, warp)
            rows.append(row)
            mass = row.probs.sum() if len(row.ids) else 0
            if not mass or (mass < 1 and not rng.random() < mass):
                break
            context.append(draw(row, rng))
        else:
            rows.append(EMPTY)
        return Draft(tuple(context[len(tokens) :]), tuple(rows), self.source)


class StopsWhenUnsure(Stepwise):
    """End before drawing where the best token is not likely enough."""

    def row(self, context, warp):
        row = super().row(context, warp)
        return row if row.probs.max() > 2 * THRESHOLD else EMPTY


class DiscardsUnlikely(Stepwise):
    """Draw, and discard what was not likely enough: a row that lacks mass."""

    def row(self, context, warp):
        row = super().row(context, warp)
        kept = row.probs >= THRESHOLD
        return Row(row.ids[kept], row.probs[kept])


class TrimmedVocabulary(Stepwise):
    """Know only the even tokens; not normalised, so the others are the draft's end."""

    def row(self, context, warp):
        row = super().row(context, warp)
        return Row(row.ids[row.ids % 2 == 0], row.probs[row.ids % 2 == 0])


class Table(Stepwise):
    """Propose one token for sure, as a lookup in the conversation does."""

    def row(self, context, warp):
        return one_hot(sum(context) % self.model.n_vocab)


class Cascade(Stepwise):
    """Ask a table on some prefixes, the model on others, and nobody on the rest."""

    def row(self, context, warp):
        kind = (sum(context) + len(context)) % 4
        if kind == 3:
            return EMPTY
        if kind == 0:
            return one_hot(len(context) % self.model.n_vocab)
        return super().row(context, warp)


class KeepsThenStops(Stepwise):
    """End after an unlikely token that was kept: it is known when the end is decided."""

    def row(self, context, warp):
        if context and self.model.probs(context[:-1])[context[-1]] < THRESHOLD:
            return EMPTY
        return super().row(context, warp)


class DiscardsInSecret(ModelDrafter):
    """Discard unlikely tokens without saying so: biased, the control that must fail."""

    def propose(self, tokens, k, warp, rng):
        draft = super().propose(tokens, k, warp, rng)
        for i, (token, row) in enumerate(zip(draft.tokens, draft.rows, strict=False)):
            if row.prob(token) < THRESHOLD:
                return Draft(draft.tokens[:i], (*draft.rows[:i], EMPTY), draft.source)
        return draft


STEPWISE = (
    Stepwise,
    StopsWhenUnsure,
    DiscardsUnlikely,
    TrimmedVocabulary,
    Table,
    Cascade,
    KeepsThenStops,
)


def best_two(logits: Any, _history: Sequence[int]) -> Row:
    """A warp that cuts: the two best of a toy's probabilities, the lower ids among equals."""
    best = sorted(range(len(logits)), key=lambda token: (-logits[token], token))[:2]
    return _normalised([p if token in best else 0 for token, p in enumerate(logits)])


def repeats_halved(logits: Any, history: Sequence[int]) -> Row:
    """A warp that depends on the history: its last two tokens count half."""
    return _normalised([p / 2 if t in history[-2:] else p for t, p in enumerate(logits)])


def _normalised(weights: Sequence[Any]) -> Row:
    row = row_of(weights)
    return Row(row.ids, row.probs / row.probs.sum())
