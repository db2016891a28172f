"""A constraint on rows: the logits of forbidden tokens are removed before the warp.

The law of a constrained answer is that of masked ArS: each token is drawn from the row that the
warp makes of the tokens that the constraint allows after all tokens before it. SpS has the same
law if the target's rows are masked like this, each by its own prefix, proposals included. A
draft's rows are masked too, to resemble the target's; the verification is exact in any case.

A token may also be forced, as at the end of a thought's budget. Whether it is depends on the tokens
before it alone, hypothetical ones included. So its one-hot row is a row like any other.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from assistant.decoding.model import Logits
from assistant.decoding.row import EMPTY, Ids, Row, one_hot
from assistant.decoding.warp import Warp

Indices = Callable[[Ids], Ids]
"""Returns the indices of the target's tokens in a draft's logits, without tokens it lacks."""

Forced = Callable[[Sequence[int]], int | None]
"""Returns the token that must follow some tokens; None where any may."""


class Mask(Protocol):
    """The tokens that a constraint allows next: a function of the context's tokens alone.

    A context includes its prompt, which a mask ignores.
    """

    def only_token(self, tokens: Sequence[int]) -> int | None:
        """Return the one token that may follow; None if there are several."""

    def masked(
        self, logits: Logits, tokens: Sequence[int], indices: Indices | None = None
    ) -> Logits | None:
        """Return a copy of logits with minus infinity for forbidden tokens; None if all are.

        With `indices`, the logits are a draft's.
        """

    def count_allowed(self, tokens: Sequence[int], run: Sequence[int]) -> int:
        """Return how many of a run's first tokens may follow."""

    def fixed_text_tokens(self, tokens: Sequence[int]) -> Sequence[int]:
        """Return tokens that spell text which must follow; other tokens may spell it as well."""


def constrained(warp: Warp, mask: Mask | None) -> Warp:
    """Return the target's warp under a constraint.

    Where all tokens are forbidden, its row has the id after the last one: an answer that draws that
    cannot continue. It is an outcome like any other: a draft makes it neither likelier nor rarer.
    """
    if mask is None:
        return warp

    def masked(logits: Logits, history: Sequence[int]) -> Row:
        if (token := mask.only_token(history)) is not None:
            return one_hot(token)
        if (allowed := mask.masked(logits, history)) is None:
            return one_hot(len(logits))
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
    warp: Warp, mask: Mask | None, tokens: Sequence[int], indices: Indices
) -> Warp:
    """Return a draft's warp after `tokens` of the target; its row is empty if all are forbidden."""
    if mask is None:
        return warp

    def masked(logits: Logits, history: Sequence[int]) -> Row:
        allowed = mask.masked(logits, tokens, indices)
        return EMPTY if allowed is None else warp(allowed, history)

    return masked
