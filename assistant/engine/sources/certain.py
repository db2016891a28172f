"""What has to come next, as draft sources: forced tokens, and what a form leaves no choice of."""

from collections.abc import Sequence

from assistant.decoding.mask import Forced, Mask
from assistant.decoding.sources.draft import Copying, Run, Source

FORCED = 9  # the evidence for a token that the target cannot refuse
SPELT, ALONE = 0, 1
"""The evidence for tokens of a form: their text is fixed, or they alone may come."""


class ForcedSource(Copying):
    """Propose what is forced: all of it is accepted, so it costs no evaluation of its own."""

    name = "forced"

    def __init__(self, forced: Forced) -> None:
        self._forced = forced

    def offer(self, tokens: Sequence[int], room: int) -> Run | None:
        """Offer the tokens that are forced after `tokens`."""
        run: list[int] = []
        while len(run) < room and (token := self._forced([*tokens, *run])) is not None:
            run.append(token)
        return Run(self.name, tuple(run), (FORCED,) * len(run), len(run)) if run else None


class ConstraintSource(Copying):
    """Propose what a form leaves no choice about."""

    name = "form"

    def __init__(self, mask: Mask) -> None:
        self._mask = mask

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


def certain_sources(forced: Forced | None, mask: Mask | None) -> list[Source]:
    """Return the sources that are never wrong, which are asked before all others."""
    sources: list[Source] = [ForcedSource(forced)] if forced else []
    return [*sources, ConstraintSource(mask)] if mask else sources
