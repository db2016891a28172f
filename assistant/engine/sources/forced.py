"""Tokens that have to come next, as a draft source and as rows of the target.

What forces a token is a function of the tokens before it alone, hypothetical ones included. So the
target's one-hot rows are rows like any others, and ArS with them is the law that SpS has, too.
"""

from collections.abc import Callable, Sequence

from assistant.decoding.model import Logits
from assistant.decoding.row import Row, one_hot
from assistant.decoding.sources.draft import Copying, Run
from assistant.decoding.warp import Warp

Forced = Callable[[Sequence[int]], int | None]
"""Returns the token that must follow some tokens; None where any may."""
CERTAIN = 9
"""The evidence for a token that the target cannot refuse."""


def forcing(warp: Warp, forced: Forced) -> Warp:
    """Return a warp whose row is one-hot where a token is forced."""

    def forced_or_warped(logits: Logits, history: Sequence[int]) -> Row:
        token = forced(history)
        return warp(logits, history) if token is None else one_hot(token)

    return forced_or_warped


class ForcedSource(Copying):
    """Propose what is forced: all of it is accepted, so it costs no evaluation of its own."""

    name = "forced"

    def __init__(self, forced: Forced) -> None:
        self._forced = forced

    def read(self, tokens: Sequence[int]) -> None:
        """Take nothing in."""

    def offer(self, tokens: Sequence[int], room: int) -> Run | None:
        """Offer the tokens that are forced after `tokens`."""
        run: list[int] = []
        while len(run) < room and (token := self._forced([*tokens, *run])) is not None:
            run.append(token)
        return Run(self.name, tuple(run), (CERTAIN,) * len(run), len(run)) if run else None
