"""What evaluations cost on this machine."""

from collections.abc import Mapping
from math import inf

from assistant.decoding.lookahead.cost_curve import Curve
from assistant.decoding.sources.model import ModelSource

TABLE_S = 0.0015  # a row of a table over 150,000 tokens, warped; until one was seen


class Costs:
    """What evaluations take, the cost curves t(n) of a target and its draft, and rows of tables.

    Args:
        verify: measured seconds of the target's evaluations, by width.
        draft: measured seconds that the draft takes to read tokens and give one row, by tokens;
            empty when there is no draft model.

    Raises:
        ValueError: something in them is no duration, or `verify` is empty.
    """

    def __init__(self, verify: Mapping[int, float], draft: Mapping[int, float]) -> None:
        self._verify = Curve(verify)
        self._draft = Curve(draft, self._verify) if draft else None
        self._table = Curve({1: TABLE_S})

    def verify(self, width: int) -> float:
        """Return the seconds of an evaluation of `width` tokens by the target."""
        return self._verify(width)

    def draft(self, tokens: int) -> float:
        """Return the seconds in which the draft reads `tokens` new tokens and gives one row.

        One token is a draft step. Without a draft model that takes for ever.
        """
        return self._draft(tokens) if self._draft else inf

    def row(self, source: str, unread: int = 1) -> float:
        """Return the seconds in which a source makes a row, with `unread` tokens to read for it.

        Tables have nothing to read, and take the same time for every row.
        """
        return self.draft(unread) if source == ModelSource.name else self._table(1)

    def saw_verify(self, width: int, seconds: float) -> None:
        """Learn how long an evaluation by the target took."""
        self._verify.saw(width, seconds)

    def saw_draft(self, tokens: int, seconds: float) -> None:
        """Learn how long the draft took."""
        if self._draft:
            self._draft.saw(tokens, seconds)

    def saw_tables(self, rows: int, seconds: float) -> None:
        """Learn how long rows of tables took."""
        if rows:
            self._table.saw(1, seconds / rows)
