"""What all sources that copy have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from assistant.decoding.sources.draft import Run
from assistant.decoding.warp import EMPTY, Row, Warp, one_hot


class Copying(ABC):
    """A source that says beforehand which tokens it proposes."""

    @abstractmethod
    def offer(self, tokens: Sequence[int], room: int) -> Run | None:
        """Offer to continue `tokens` with up to `room` tokens; None if there is nothing to copy."""

    def row(self, tokens: Sequence[int], warp: Warp) -> tuple[Row, int]:
        """Return the one-hot row of the first token that it would offer, and its evidence."""
        run = self.offer(tokens, 1)
        return (one_hot(run.tokens[0]), run.evidence[0]) if run else (EMPTY, 0)
