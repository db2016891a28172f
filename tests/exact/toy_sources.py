"""Draft sources over a toy that end their drafts in different ways."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from typing import Any, cast

from assistant.decoding.row import EMPTY, Row, one_hot
from assistant.decoding.sources.draft import Cascade, Draft, Proposal, Rows, Run, Source
from assistant.decoding.sources.model import ModelSource, VocabularyMapping
from models.errors import ModelError
from tests.exact.exact_rows import row_of
from tests.exact.toy import Toy

ToyWarp = Callable[[Any, Sequence[int]], Row]
THRESHOLD: Any = Fraction(1, 3)


class Stepwise:
    """Propose one position at a time: `row` gives the row of the next one, EMPTY to end there.

    A row of mass below 1 ends the draft with the probability that it lacks.
    """

    source = "toy"
    habit = "proposes to the end"
    """What it does, in words."""

    def __init__(self, model: Toy) -> None:
        self.model = model

    def row(self, context: Sequence[int], warp: ToyWarp) -> Row:
        """Return the row of the next position."""
        return warp(self.model.logits(context)[0], context)

    def propose(self, tokens: Sequence[int], plan: Any, warp: Any, draw: Any) -> Draft:
        """Propose as far as `plan` likes, or until a row ends it."""
        context, proposals = list(tokens), list[Proposal]()
        while plan.budget > 0 and plan.next([Rows(self.source)]):
            row = self.row(context, warp)
            mass = row.probs.sum() if len(row.ids) else 0
            if not mass or (mass < 1 and not self._goes_on(mass, draw)):
                return Draft(tuple(proposals), row)
            proposals.append(Proposal(draw(row, len(context)), row, self.source))
            context.append(proposals[-1].token)
        return Draft(tuple(proposals))

    def _goes_on(self, mass: Any, draw: Any) -> bool:
        return bool(draw(row_of([mass, 1 - mass]), 0) == 0)


class StopsWhenUnsure(Stepwise):
    """End before drawing where the best token is not likely enough."""

    habit = "stops when it is unsure"

    def row(self, context: Sequence[int], warp: ToyWarp) -> Row:
        row = super().row(context, warp)
        return row if row.probs.max() > 2 * THRESHOLD else EMPTY


class DiscardsUnlikely(Stepwise):
    """Draw, and discard what was not likely enough: a row that lacks mass."""

    habit = "discards what is unlikely"

    def row(self, context: Sequence[int], warp: ToyWarp) -> Row:
        row = super().row(context, warp)
        kept = row.probs >= THRESHOLD
        return Row(row.ids[kept], row.probs[kept])


class TrimmedVocabulary(Stepwise):
    """Know only the even tokens; not normalised, so the others are the draft's end."""

    habit = "knows half of the tokens"

    def row(self, context: Sequence[int], warp: ToyWarp) -> Row:
        row = super().row(context, warp)
        return Row(row.ids[row.ids % 2 == 0], row.probs[row.ids % 2 == 0])


class TableSource(Stepwise):
    """Propose one token for sure, as a lookup in the conversation does."""

    habit = "looks tokens up"

    def row(self, context: Sequence[int], warp: ToyWarp) -> Row:
        return one_hot(sum(context) % self.model.n_vocab)


class Mixture(Stepwise):
    """Ask a table on some prefixes, the model on others, and nobody on the rest."""

    habit = "proposes in several ways"

    def row(self, context: Sequence[int], warp: ToyWarp) -> Row:
        kind = (sum(context) + len(context)) % 4
        if kind == 3:
            return EMPTY
        if kind == 0:
            return one_hot(len(context) % self.model.n_vocab)
        return super().row(context, warp)


class KeepsThenStops(Stepwise):
    """End after an unlikely token that was kept: it is known when the end is decided."""

    habit = "stops after an unlikely token"

    def row(self, context: Sequence[int], warp: ToyWarp) -> Row:
        if context and self.model.probs(context[:-1])[context[-1]] < THRESHOLD:
            return EMPTY
        return super().row(context, warp)


class Parrot(Source):
    """A source that copies: a run that is a function of the context, often none."""

    name = "parrot"

    def __init__(self, n_vocab: int, seed: int = 0) -> None:
        self._n_vocab, self._seed = n_vocab, seed

    def offer(self, tokens: Sequence[int], budget: int) -> Run | None:
        """Offer a run or nothing."""
        random = Random(repr((self._seed, tuple(tokens))))
        length = random.randint(0, budget)
        run = tuple(random.randrange(self._n_vocab) for _ in range(length))
        return Run(self.name, run, tuple(random.randrange(3) for _ in run)) if run else None


class FailsAfter(Toy):
    """A model that computes nothing after token 0, once something was drawn."""

    def logits(self, tokens: Sequence[int], rows: int = 1) -> Any:
        """Return laws, or fail."""
        if len(tokens) > 1 and tokens[-1] == 0:
            raise ModelError("It computes no numbers after token 0.")
        return super().logits(tokens, rows)


def modelled(draft: Toy, n_vocab: int = 3) -> Cascade:
    """Return a drafter that asks a model and nothing else."""
    return Cascade(modelled_by(draft, n_vocab))


def modelled_by(draft: Toy, n_vocab: int = 3) -> ModelSource:
    """Return a source that asks a model, for a target of `n_vocab` tokens."""
    mapping = VocabularyMapping.by_number(n_vocab, draft.n_vocab)
    return ModelSource(cast(Any, draft), mapping, failures=(ModelError,))


STEPWISE = (
    Stepwise, StopsWhenUnsure, DiscardsUnlikely, TrimmedVocabulary, TableSource, Mixture,
    KeepsThenStops,
)  # fmt: skip
