"""Draft sources of certain tokens: forced ones, and those that a constraint prescribes."""

from collections.abc import Sequence

from assistant.decoding.mask import Forced, Mask
from assistant.decoding.sources.draft import Run, Source

FORCED = 9  # the bucket of a token that the target cannot reject
FIXED_TEXT, ONLY_TOKEN = 0, 1
"""Buckets of a constraint's tokens: their text is fixed, or no other token is allowed."""


class ForcedSource(Source):
    """Proposes forced tokens: they are all accepted, so they cost no evaluations."""

    name = "forced"

    def __init__(self, forced: Forced) -> None:
        self._forced = forced

    def offer(self, tokens: Sequence[int], budget: int) -> Run | None:
        """Offer the tokens that are forced after `tokens`."""
        run: list[int] = []
        while len(run) < budget and (token := self._forced([*tokens, *run])) is not None:
            run.append(token)
        return Run(self.name, tuple(run), (FORCED,) * len(run), len(run)) if run else None


class ConstraintSource(Source):
    """Proposes tokens that a constraint prescribes."""

    name = "form"

    def __init__(self, mask: Mask) -> None:
        self._mask = mask

    def offer(self, tokens: Sequence[int], budget: int) -> Run | None:
        """Offer tokens while only one is allowed, then tokens of text that must follow."""
        context = list(tokens)
        while len(context) < len(tokens) + budget:
            token = self._mask.only_token(context)
            if token is None:
                break
            context.append(token)
        only_tokens = context[len(tokens) :]
        fixed = list(self._mask.fixed_text_tokens(context))[: budget - len(only_tokens)]
        if not only_tokens and not fixed:
            return None
        buckets = [ONLY_TOKEN] * len(only_tokens) + [FIXED_TEXT] * len(fixed)
        return Run(self.name, (*only_tokens, *fixed), tuple(buckets), len(only_tokens))


def certain_sources(forced: Forced | None, mask: Mask | None) -> list[Source]:
    """Return the sources of certain tokens, which come before all others."""
    sources: list[Source] = [ForcedSource(forced)] if forced else []
    return [*sources, ConstraintSource(mask)] if mask else sources
