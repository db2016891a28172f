"""What has to come next, as draft sources: forced tokens, and what a form leaves no choice about.

What forces a token is a function of the tokens before it alone, hypothetical ones included. So the
target's one-hot rows are rows like any others, and ArS with them is the law that SpS has, too.
"""

from collections.abc import Callable, Sequence

from assistant.decoding.mask import Mask
from assistant.decoding.model import Logits
from assistant.decoding.row import Row, one_hot
from assistant.decoding.sources.draft import Copying, Run
from assistant.decoding.warp import Warp

Forced = Callable[[Sequence[int]], int | None]
"""Returns the token that must follow some tokens; None where any may."""
FORCED = 9
"""The evidence for a token that the target cannot refuse."""
SPELT, ALONE = 0, 1
"""The evidence for tokens of a form: their text is fixed, or they alone may come."""


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
        """Do nothing: what is forced depends on the tokens that are to be continued."""

    def offer(self, tokens: Sequence[int], room: int) -> Run | None:
        """Offer the tokens that are forced after `tokens`."""
        run: list[int] = []
        while len(run) < room and (token := self._forced([*tokens, *run])) is not None:
            run.append(token)
        return Run(self.name, tuple(run), (FORCED,) * len(run), len(run)) if run else None


class FormSource(Copying):
    """Propose what a form leaves no choice about."""

    name = "form"

    def __init__(self, mask: Mask) -> None:
        self._mask = mask

    def read(self, tokens: Sequence[int]) -> None:
        """Do nothing: a form depends on the tokens that are to be continued."""

    def offer(self, tokens: Sequence[int], room: int) -> Run | None:
        """Offer tokens as long as one alone may follow, and then text that must."""
        context = list(tokens)
        while len(context) < len(tokens) + room:
            only = self._mask.only(context)
            if only is None:
                break
            context.append(only)
        alone = context[len(tokens) :]
        spelt = list(self._mask.likely(context))[: room - len(alone)]
        if not alone and not spelt:
            return None
        evidence = [ALONE] * len(alone) + [SPELT] * len(spelt)
        return Run(self.name, (*alone, *spelt), tuple(evidence), len(alone))
