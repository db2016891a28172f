"""What rounds cost on this machine: evaluations of the target and the draft, rows of tables."""

from collections.abc import Mapping
from math import inf, isfinite

from assistant.decoding.lookahead.cost_curve import Curve
from assistant.decoding.sources.model import MODEL

WIDEST = 32  # the widest batch that is thought of
TABLE_S = 0.0015  # a row of a table over 150,000 tokens, warped; until one was seen
DRAFT_DOUBT, BATCH_DOUBT = 9.0, 2.0  # so that the promise holds where they were measured wrongly
QUARTER_DOUBT = 4.5  # of the draft's reading, where it was seen to read a quarter as many
TRUST = 0.38  # the exponent of a doubt, each time that it was not confirmed: 9, 2.3, 1.4, 1.1


class Doubt:
    """How many times as long as believed an evaluation may well take, by its tokens.

    What is measured is never believed before it was seen: the first time little is staked on it.
    Evaluations of at least as many tokens settle doubts about fewer.

    Args:
        first: the doubt where nothing like it was seen.
        quarter: the doubt, at least, where only a quarter as many tokens were seen.
    """

    def __init__(self, first: float, quarter: float) -> None:
        self._first, self._quarter = first, quarter
        self._known: dict[int, float] = {}  # by the bits of the number of tokens

    def __call__(self, tokens: int) -> float:
        """Return the doubt of so many tokens; at least 1."""
        bits = tokens.bit_length()
        if seen := [doubt for each, doubt in self._known.items() if each >= bits]:
            return min(seen)
        if near := [doubt for each, doubt in self._known.items() if each >= bits - 2]:
            return max(self._quarter, *near)
        return self._first

    def saw(self, tokens: int, slower: float) -> None:
        """Take an evaluation that took `slower` times as long as believed."""
        bits = tokens.bit_length()
        settled = self._known.get(bits, self._first) ** TRUST
        self._known[bits] = max(settled, min(slower, self._first))


class Costs:
    """What evaluations take, the cost curves t(n) of a target and its draft, and rows of tables.

    Args:
        verify: measured seconds of the target's evaluations, by width.
        draft: measured seconds that the draft takes to read tokens and give one row, by tokens;
            empty when there is no draft model.
        attention: what is known of the target's; see `Curve`.

    Raises:
        ValueError: something in them is not a duration, or `verify` is empty.
    """

    def __init__(
        self, verify: Mapping[int, float], draft: Mapping[int, float], attention: float = 0.0
    ) -> None:
        self._verify = Curve(verify, attention)
        self._draft = Curve(draft, target=self._verify) if draft else None
        self._table = Curve({1: TABLE_S})
        self._draft_doubt = Doubt(DRAFT_DOUBT, QUARTER_DOUBT)
        self.batch_doubt = Doubt(BATCH_DOUBT, BATCH_DOUBT)
        self.slowness = 1.0
        """How many times as long as believed the draft took last, at least 1."""
        self._verify_s: list[float] = []  # by width, until more is learnt

    def measure(self, verify: Mapping[int, float], draft: Mapping[int, float]) -> None:
        """Replace what was measured, by a measurement that is more certain.

        Raises:
            ValueError: as of new costs.
        """
        self._verify.measure(verify)
        if self._draft:
            self._draft.measure(draft)
        elif draft:  # it was loaded after the target
            self._draft = Curve(draft, target=self._verify)
        self._verify_s.clear()

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
        self._verify_s.clear()
        return self._verify(1) / before

    def verify(self, width: int) -> float:
        """Return t(n): the seconds in which the target evaluates a batch of `width` tokens."""
        if not self._verify_s:
            self._verify_s = [self._verify(n) for n in range(1, WIDEST + 1)]
        return self._verify_s[width - 1] if width <= WIDEST else self._verify(width)

    def draft(self, tokens: int) -> float:
        """Return the seconds in which the draft reads `tokens` new tokens and gives one row.

        One token is a draft step. Without a draft model that takes forever.
        """
        return self._draft(tokens) if self._draft else inf

    def doubt(self, tokens: int) -> float:
        """Return how many times as long as believed the draft may well take to read `tokens` next.

        That is 1 at least, and less where it was seen to read about as many.
        """
        if not tokens:
            return 1.0  # a table's row
        return max(self.slowness, self._draft_doubt(tokens))

    def row(self, source: str, pending: int = 1) -> float:
        """Return the seconds in which a source makes a row, with `pending` tokens to read for it.

        Tables have nothing to read, and take the same time for every row.
        """
        return self.draft(pending) if source == MODEL else self._table(1)

    def saw_verify(self, width: int, seconds: float) -> None:
        """Learn how long the target took to verify `width` tokens."""
        if width > 1 and seconds > 0 and isfinite(seconds):
            self.batch_doubt.saw(width, seconds / self.verify(width))
        self._verify.saw(width, seconds)
        self._verify_s.clear()

    def saw_draft(self, tokens: int, seconds: float) -> None:
        """Learn how long the draft took: what is usual by many looks, what is possible by one."""
        if self._draft and seconds > 0 and isfinite(seconds):
            self.slowness = max(1.0, seconds / self._draft(tokens))
            self._draft_doubt.saw(tokens, self.slowness)
            self._draft.saw(tokens, seconds)

    def saw_tables(self, rows: int, seconds: float) -> None:
        """Learn how long rows of tables took."""
        if rows:
            self._table.saw(1, seconds / rows)
