"""The target's own prediction heads as a draft source."""

from collections.abc import Sequence

from assistant.decoding.sources.model import HEADS, ModelSource, PrefillOption


class HeadSource(ModelSource):
    """Propose by prediction heads of the target.

    They read what the target has read, by its states: nothing is gained by beginning further on.
    """

    name = HEADS

    def read(self, tokens: Sequence[int]) -> None:
        """Do nothing: heads find themselves where to begin."""

    def prefill_options(self, tokens: Sequence[int]) -> list[PrefillOption]:
        """Return the one way: to go on."""
        return [PrefillOption(len(tokens), self.unread(tokens))]

    def begin(self, tokens: Sequence[int], context: int) -> None:
        """Do nothing: there is one way."""
