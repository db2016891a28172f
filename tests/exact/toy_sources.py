"""Draft sources over a toy that end their drafts in different ways."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any, cast

from assistant.decoding.row import EMPTY, Row, one_hot
from assistant.decoding.sources.draft import Cascade, Draft, Proposal, Rows, Run, Source
from assistant.decoding.sources.model import ModelSource, VocabularyMapping
from models.errors import ModelError
from tests.exact.exact_rows import row_of
from tests.exact.toy import Toy

ToyWarp = Callable[[Any, Sequence[int]], Row]
Shape = Callable[[Toy, Sequence[int], ToyWarp], Row]
THRESHOLD: Any = Fraction(1, 3)


class Stepwise:
    """Propose one position at a time: `shape` gives the row of the next one, EMPTY to end there.

    A row of mass below 1 ends the draft with the probability that it lacks.
    """

    source = "toy"

    def __init__(self, shape: Shape, model: Toy) -> None:
        self._shape, self._model = shape, model

    def propose(self, tokens: Sequence[int], plan: Any, warp: Any, draw: Any) -> Draft:
        """Propose as far as `plan` likes, or until a row ends it."""
        context, proposals = list(tokens), list[Proposal]()
        while plan.budget > 0 and plan.next([Rows(self.source)]):
            row = self._shape(self._model, context, warp)
            mass = row.probs.sum() if len(row.ids) else 0
            if not mass or (mass < 1 and not self._goes_on(mass, draw)):
                return Draft(tuple(proposals), row)
            proposals.append(Proposal(draw(row, len(context)), row, self.source))
            context.append(proposals[-1].token)
        return Draft(tuple(proposals))

    def _goes_on(self, mass: Any, draw: Any) -> bool:
        return bool(draw(row_of([mass, 1 - mass]), 0) == 0)


def _whole(model: Toy, context: Sequence[int], warp: ToyWarp) -> Row:
    return warp(model.logits(context)[0], context)


def _if_sure(model: Toy, context: Sequence[int], warp: ToyWarp) -> Row:
    """End before drawing where the best token is not likely enough."""
    row = _whole(model, context, warp)
    return row if row.probs.max() > 2 * THRESHOLD else EMPTY


def _likely(model: Toy, context: Sequence[int], warp: ToyWarp) -> Row:
    """Draw, and discard what was not likely enough: a row that lacks mass."""
    row = _whole(model, context, warp)
    return Row(row.ids[row.probs >= THRESHOLD], row.probs[row.probs >= THRESHOLD])


def _even(model: Toy, context: Sequence[int], warp: ToyWarp) -> Row:
    """Know only the even tokens; not normalised, so the others are the draft's end."""
    row = _whole(model, context, warp)
    return Row(row.ids[row.ids % 2 == 0], row.probs[row.ids % 2 == 0])


def _looked_up(model: Toy, context: Sequence[int], warp: ToyWarp) -> Row:
    """Propose one token for sure, as a lookup in the conversation does."""
    return one_hot(sum(context) % model.n_vocab)


def _mixed(model: Toy, context: Sequence[int], warp: ToyWarp) -> Row:
    """Ask a table on some prefixes, the model on others, and nobody on the rest."""
    kind = (sum(context) + len(context)) % 4
    if kind == 3:
        return EMPTY
    return _whole(model, context, warp) if kind else one_hot(len(context) % model.n_vocab)


def _after_likely(model: Toy, context: Sequence[int], warp: ToyWarp) -> Row:
    """End after an unlikely token that was kept: it is known when the end is decided."""
    if context and model.probs(context[:-1])[context[-1]] < THRESHOLD:
        return EMPTY
    return _whole(model, context, warp)


SHAPES: dict[str, Shape] = {
    "proposes to the end": _whole, "stops when it is unsure": _if_sure,
    "discards what is unlikely": _likely, "knows half of the tokens": _even,
    "looks tokens up": _looked_up, "proposes in several ways": _mixed,
    "stops after an unlikely token": _after_likely,
}  # fmt: skip
STEPWISE = {habit: partial(Stepwise, shape) for habit, shape in SHAPES.items()}
"""What each of them does, in words."""


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
    mapping = VocabularyMapping.identity(n_vocab, draft.n_vocab)
    return ModelSource(cast(Any, draft), mapping, failures=(ModelError,))
