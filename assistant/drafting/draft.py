"""What a draft source gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from assistant.sampling import Uniforms
from assistant.warp import Row, Warp


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """Proposed tokens, the rows they were drawn from, and who proposed them.

    There is one row more than tokens: the last was in force when the draft ended.
    """

    tokens: tuple[int, ...]
    rows: tuple[Row, ...]
    source: str


class Drafter(Protocol):
    """A draft source."""

    def propose(self, tokens: Sequence[int], k: int, warp: Warp, rng: Uniforms) -> Draft:
        """Propose at most `k` tokens to follow `tokens`.

        Whether there is an i-th proposal may depend on everything known before that token is
        drawn, and on nothing after, or the output is biased.
        """
        ...
