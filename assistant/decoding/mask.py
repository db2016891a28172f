"""A form laid over rows: what it forbids is taken out before the warp.

The law of an answer with a form is that of masked ArS: each token is drawn from the row that the
warp makes of what the form allows after all tokens before it. SpS has the same law if the target's
rows are masked like this, each by its own prefix, proposals included. A draft's rows are masked
too, so that they resemble the target's; whatever they are, the verification is exact.

What forces a token is a function of the tokens before it alone, hypothetical ones included. So the
target's one-hot rows are rows like any others, and ArS with them is the law that SpS has, too.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from assistant.decoding.model import Logits
from assistant.decoding.row import EMPTY, Ids, Row, one_hot
from assistant.decoding.warp import Warp

Placed = Callable[[Ids], Ids]
"""Tells where the target's tokens stand among the logits of a draft; ids without a place go."""

Forced = Callable[[Sequence[int]], int | None]
"""Returns the token that must follow some tokens; None where any may."""


class NothingAllowed(Exception):
    """A form forbids every token, in a sentence."""


class Mask(Protocol):
    """What a form allows after some tokens: a function of these tokens alone.

    They are a whole context, whose prompt it knows to leave out.
    """

    def only(self, tokens: Sequence[int]) -> int | None:
        """Return the one token that may follow; None if there are several."""

    def masked(
        self, logits: Logits, tokens: Sequence[int], placed: Placed | None = None
    ) -> Logits | None:
        """Return a copy of logits in which what may not follow has none; None if nothing is left.

        With `placed` they are a draft's.
        """

    def fitting(self, tokens: Sequence[int], run: Sequence[int]) -> int:
        """Return how many tokens of a run may follow, one after the other."""

    def likely(self, tokens: Sequence[int]) -> Sequence[int]:
        """Return tokens that spell text which must follow, as other tokens might, too."""


def constrained(warp: Warp, mask: Mask | None) -> Warp:
    """Return how the target's logits become rows under a form.

    Raises:
        NothingAllowed: by the warp, where the form leaves no token.
    """
    if mask is None:
        return warp

    def masked(logits: Logits, history: Sequence[int]) -> Row:
        if (only := mask.only(history)) is not None:
            return one_hot(only)
        if (allowed := mask.masked(logits, history)) is None:
            raise NothingAllowed("The form allows no token that this model has.")
        return warp(allowed, history)

    return masked


def forcing(warp: Warp, forced: Forced | None) -> Warp:
    """Return a warp whose row is one-hot where a token is forced."""
    if forced is None:
        return warp

    def forced_or_warped(logits: Logits, history: Sequence[int]) -> Row:
        token = forced(history)
        return warp(logits, history) if token is None else one_hot(token)

    return forced_or_warped


def constrained_draft(
    warp: Warp, mask: Mask | None, tokens: Sequence[int], placed: Placed | None
) -> Warp:
    """Return how a draft's logits after `tokens` of the target become a row: empty for none."""
    if mask is None:
        return warp

    def masked(logits: Logits, history: Sequence[int]) -> Row:
        allowed = mask.masked(logits, tokens, placed)  # the draft may lack all that is allowed
        return EMPTY if allowed is None else warp(allowed, history)

    return masked
