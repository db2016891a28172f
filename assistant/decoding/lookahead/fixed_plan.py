"""A plan that somebody else has made."""

from assistant.decoding.lookahead.forecast import Reason
from assistant.decoding.sources.draft import Fixed, Run


class FixedPlan(Fixed):
    """Propose a number of tokens that was not decided here: it is not owed, whatever it takes.

    `reason` says who decided, or why it is nothing. The rest is what `ThroughputPlan` tells of
    itself, so that nobody has to ask which of the two a plan is.
    """

    runs: tuple[Run, ...] = ()
    reads: tuple[int, ...] = ()
    table_rows = 0
    is_owed = False
    expected_s = 0.0
    speedup = None

    def __init__(self, room: int, reason: Reason) -> None:
        super().__init__(room)
        self.reason = reason
