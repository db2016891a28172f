"""What evaluations cost on this machine."""

from collections.abc import Mapping
from math import inf

from assistant.lookahead.curve import Curve


class Costs:
    """The cost curves t(n) of a target and of its draft.

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

    def verify(self, width: int) -> float:
        """Return the seconds of an evaluation of `width` tokens by the target."""
        return self._verify(width)

    def draft(self, tokens: int) -> float:
        """Return the seconds in which the draft reads `tokens` new tokens and gives one row.

        One token is a draft step. Without a draft model that takes for ever.
        """
        return self._draft(tokens) if self._draft else inf

    def saw_verify(self, width: int, seconds: float) -> None:
        """Learn how long an evaluation by the target took."""
        self._verify.saw(width, seconds)

    def saw_draft(self, tokens: int, seconds: float) -> None:
        """Learn how long the draft took."""
        if self._draft:
            self._draft.saw(tokens, seconds)
