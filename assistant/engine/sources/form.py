"""The form of an answer as a draft source: what it leaves no choice about."""

from collections.abc import Sequence

from assistant.decoding.mask import Mask
from assistant.decoding.sources.draft import Copying, Run

LIKELY, CERTAIN = 0, 1
"""Classes of evidence: the text is fixed, or its very tokens are."""


class FormSource(Copying):
    """Propose what must come next."""

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
        certain = context[len(tokens) :]
        likely = list(self._mask.likely(context))[: room - len(certain)]
        if not certain and not likely:
            return None
        evidence = [CERTAIN] * len(certain) + [LIKELY] * len(likely)
        return Run(self.name, (*certain, *likely), tuple(evidence), len(certain))
