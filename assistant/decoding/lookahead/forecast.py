"""The reason of a round's proposals, and the expected gain."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a round proposed as many tokens as it did."""

    ARS = "ars"  # the user chose ArS
    SPS = "sps"  # the user chose SpS
    CHOSEN = "chosen"  # the user chose the lookahead
    UNMEASURED = "unmeasured"  # nothing is known of what evaluations cost here
    NO_SOURCE = "no-source"  # nothing can propose
    FIRST = "first"  # the first token does not wait for a draft
    TIMING = "timing"  # it is time to see how fast ArS is now
    SPENT = "spent"  # proposals have used up the answer's budget
    UNLIKELY = "unlikely"  # no proposal on offer promised to save time
    LIKELY = "likely"  # these proposals promised to save time


@dataclass(frozen=True, slots=True)
class Forecast:
    """The reason of a round's proposals, and the expected gain.

    A proposal costs at least `cost` evaluations of one token: that is what the cheapest lookahead
    costs for each of its tokens, the draft's steps included. So proposals that are right less often
    than that cannot save time.
    """

    reason: Reason
    speedup: float | None = None  # of a round like this against ArS, as its plan expects
    ars_token_s: float | None = None  # seconds of a token by ArS, as measured so far
    cost: float | None = None
    right: float | None = None  # share of the draft model's proposals that may be accepted
