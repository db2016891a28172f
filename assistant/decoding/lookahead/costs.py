"""What rounds cost on this machine: evaluations of the target and the draft, rows of tables."""

from collections.abc import Mapping
from math import inf

from assistant.decoding.lookahead.cost_curve import Curve
from assistant.decoding.sources.model import MODELS

WIDEST = 32
"""The widest batch that is thought of."""
MARGIN = 1.03
"""By how much a wider batch has to be faster to be worth it: less is noise."""
TABLE_S = 0.0015  # a row of a table over 150,000 tokens, warped; until one was seen


class Costs:
    """What evaluations take, the cost curves t(n) of a target and its draft, and rows of tables.

    Kernels that take whole blocks of tokens may be faster with a few more tokens than with those
    that are to be verified. So these are verified in the batch that takes least of all that have
    room for them; what it lacks is filled up. Here is the only place that knows.

    Args:
        verify: measured seconds of the target's evaluations, by width.
        draft: measured seconds that the draft takes to read tokens and give one row, by tokens;
            empty when there is no draft model.
        fills: whether batches can be filled up at all.
        attention: what is known of the target's; see `Curve`.

    Raises:
        ValueError: something in them is not a duration, or `verify` is empty.
    """

    def __init__(
        self,
        verify: Mapping[int, float],
        draft: Mapping[int, float],
        *,
        fills: bool = True,
        attention: float = 0.0,
    ) -> None:
        self._fills = fills
        self._verify = Curve(verify, attention)
        self._draft = Curve(draft, target=self._verify) if draft else None
        self._table = Curve({1: TABLE_S})
        self._evaluations: list[float] = []  # by width, until more is learnt

    @property
    def attention(self) -> float:
        """What is known of the target's attention by now, in seconds; see `Curve`."""
        return self._verify.attention

    def at(self, depth: int) -> float:
        """Go to a place in the text: so many tokens come before those evaluated next.

        Return how many times as long as before one token alone takes there.
        """
        before = self._verify(1)
        self._verify.depth = depth
        self._evaluations.clear()
        return self._verify(1) / before

    def verify(self, width: int) -> float:
        """Return the seconds in which the target verifies `width` tokens: min t(m) over m >= n.

        One token alone is what ArS evaluates, and is never filled up.
        """
        if width == 1 or width > WIDEST or not self._fills:
            return self.evaluation(width)
        self.evaluation(1)
        return min(self._evaluations[width - 1 :])

    def evaluation(self, width: int) -> float:
        """Return the seconds of an evaluation of exactly `width` tokens by the target: t(n)."""
        if not self._evaluations:
            self._evaluations = [self._verify(n) for n in range(1, WIDEST + 1)]
        return self._evaluations[width - 1] if width <= WIDEST else self._verify(width)

    def filled(self, width: int, most: int, look_s: float = inf) -> int:
        """Return how many tokens to evaluate, at most `most`, to verify `width` of them.

        It is the narrowest batch that takes at most `MARGIN` longer than the fastest. From time to
        time `width` itself is evaluated, where that takes at most `look_s` longer: else nobody
        would notice that it does not take longer any more.
        """
        if width == 1:
            return 1
        widths = range(width, max(width, min(most, WIDEST)) + 1)
        limit_s = MARGIN * min(map(self.evaluation, widths))
        best = next(n for n in widths if self.evaluation(n) <= limit_s)
        longer_s = self.evaluation(width) - self.evaluation(best)
        is_look = longer_s <= look_s and not self._verify.is_known(width, limit_s)
        return width if is_look else best

    def draft(self, tokens: int) -> float:
        """Return the seconds in which the draft reads `tokens` new tokens and gives one row.

        One token is a draft step. Without a draft model that takes forever.
        """
        return self._draft(tokens) if self._draft else inf

    def row(self, source: str, unread: int = 1) -> float:
        """Return the seconds in which a source makes a row, with `unread` tokens to read for it.

        Tables have nothing to read, and take the same time for every row.
        """
        return self.draft(unread) if source in MODELS else self._table(1)

    def saw_verify(self, width: int, seconds: float) -> None:
        """Learn how long an evaluation of exactly `width` tokens by the target took."""
        self._verify.saw(width, seconds)
        self._evaluations.clear()

    def saw_draft(self, tokens: int, seconds: float) -> None:
        """Learn how long the draft took."""
        if self._draft:
            self._draft.saw(tokens, seconds)

    def saw_tables(self, rows: int, seconds: float) -> None:
        """Learn how long rows of tables took."""
        if rows:
            self._table.saw(1, seconds / rows)
