"""Draft sources for the exactness tests, each with another way of ending a draft."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from typing import Any, cast

import numpy as np

from assistant.drafting.cascade import Cascade
from assistant.drafting.draft import Draft, Offer, Proposal, Rows, Run
from assistant.drafting.model import ModelSource
from assistant.warp import EMPTY, Row, one_hot
from models.mapping import Mapping
from tests.assistant.toy import Toy
from tests.exact import row_of

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

    def propose(self, tokens: Sequence[int], plan: Any, warp: Any, draw: Any) -> Draft:
        context, proposals = list(tokens), list[Proposal]()
        while plan.room > 0 and plan.next([Rows(self.source)]):
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


class Mixture(Stepwise):
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


class Parrot:
    """A source that copies: a run that is a function of the context, often none."""

    name = "parrot"

    def __init__(self, n_vocab: int, seed: int = 0) -> None:
        self._n_vocab, self._seed = n_vocab, seed

    def read(self, tokens: Sequence[int]) -> None:
        pass

    def offer(self, tokens: Sequence[int], room: int) -> Run | None:
        random = Random(repr((self._seed, tuple(tokens))))
        length = random.randint(0, room)
        run = tuple(random.randrange(self._n_vocab) for _ in range(length))
        return Run(self.name, run, tuple(random.randrange(3) for _ in run)) if run else None

    def row(self, tokens: Sequence[int], warp: Any) -> tuple[Row, int]:
        raise AssertionError("a run needs no row")


class Whims:
    """A plan that decides anything by everything it is told, past rounds included."""

    def __init__(self, room: int, *told: Any) -> None:
        self.room = room
        self._told = list(told)

    def next(self, offers: Sequence[Offer]) -> Offer | None:
        random = self._random(offers)
        offer = random.choice([*offers, *offers, None])
        if isinstance(offer, Run):
            offer = offer.first(random.randint(1, len(offer.tokens)))
        self.room -= len(offer.tokens) if isinstance(offer, Run) else 1
        return offer

    def include(self, rows: Rows, evidence: int) -> bool:
        return self._random(evidence).random() < 0.8

    def _random(self, news: Any) -> Random:
        self._told.append(news)
        return Random(repr(self._told))


class Hindsight(Cascade):
    """Ask the plan again when the token is drawn: biased, the control that must fail."""

    def propose(self, tokens, plan, warp, draw):
        draft = super().propose(tokens, plan, warp, draw)
        for i, proposal in enumerate(draft.proposals):
            if not plan.include(Rows(proposal.source), proposal.token):
                return Draft(draft.proposals[:i])
        return draft


def modelled(draft: Toy, n_vocab: int = 3) -> Cascade:
    """Return a drafter that asks a model and nothing else."""
    return Cascade(modelled_by(draft, n_vocab))


def modelled_by(draft: Toy, n_vocab: int = 3) -> ModelSource:
    """Return a source that asks a model, for a target of `n_vocab` tokens."""
    return ModelSource(cast(Any, draft), Mapping.by_number(n_vocab, draft.n_vocab))


STEPWISE = (
    Stepwise,
    StopsWhenUnsure,
    DiscardsUnlikely,
    TrimmedVocabulary,
    Table,
    Mixture,
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


def tempered(temperature: float) -> Callable[[Any, Sequence[int]], Row]:
    """Return a warp that makes a toy's rows colder or hotter, in floats."""

    def warp(logits: Any, _history: Sequence[int]) -> Row:
        weights = np.array([float(p) for p in logits])
        if temperature == 0:
            return one_hot(int(weights.argmax()))
        ids = np.flatnonzero(weights)
        hot = weights[ids] ** (1 / temperature)
        return Row(ids, hot / hot.sum())

    return warp
