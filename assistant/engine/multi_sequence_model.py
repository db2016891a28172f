"""A model that can evaluate several texts in one batch."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from assistant.decoding.model import Logits, Model
from models.base import SequenceTokens


class MultiSequenceModel(Model, Protocol):
    """A model that holds several texts side by side, and their common beginning only once.

    For each of them the cache is only a cache. The first text is the one that `logits` uses.
    """

    most_texts: int
    """How many texts it holds; 1 if it cannot hold several."""

    def logits_of(self, texts: Mapping[int, SequenceTokens]) -> dict[int, Logits]:
        """Return the logits of some texts, numbered from 0, from one evaluation of the model.

        A text that is no longer asked for is kept while there is room. Shapes and errors are those
        of `logits`; `ContextFull` is also raised if the texts do not fit together.
        """
        ...

    def settle(self, tokens: Sequence[int]) -> None:
        """Continue with one text: the one that has most in common with `tokens`."""
        ...
