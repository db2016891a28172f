"""What speculation can gain: the papers' formulas, and what is expected of a round by them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

TYPICAL = 0.8  # the acceptance rate that is assumed where none is known
STEPS = 20  # halvings of the interval in which the acceptance rate lies: to a millionth


def expected_tokens(acceptance_rate: float, k: int) -> float:
    """Return the expected tokens of a round that proposes `k`, each accepted independently.

    Leviathan et al. 2023, equation 1: (1 - a^(k+1)) / (1 - a).
    """
    return sum(acceptance_rate**i for i in range(k + 1))


def best_lookahead(
    acceptance_rate: float, verify: Mapping[int, float], step_s: float
) -> tuple[int, float]:
    """Return the lookahead with the most tokens per second, 0 included, and its speed-up over ArS.

    `verify` has the seconds of evaluations by width, `step_s` are those of making a proposal.
    """
    speeds = {
        width - 1: expected_tokens(acceptance_rate, width - 1) / ((width - 1) * step_s + seconds)
        for width, seconds in verify.items()
    }
    best = max(speeds, key=lambda k: speeds[k])
    return best, speeds[best] * verify[1]


def break_even(k: int, round_s: float, token_s: float) -> float | None:
    """Return the acceptance rate from which rounds of `k` proposals are faster than ArS.

    That is where the expected tokens of a round take ArS as long, at `token_s` each, as the round
    takes. None: not even when all are accepted.
    """
    if (k + 1) * token_s < round_s:
        return None
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if expected_tokens(middle, k) * token_s < round_s:
            low = middle
        else:
            high = middle
    return high


def cheapest_proposal(verify: Mapping[int, float], step_s: float) -> float:
    """Return the least that a proposal costs, in evaluations of one token.

    `verify` and `step_s` are as in `best_lookahead`. A proposal saves at most the token that it is
    right about; so one that is accepted less often than this cannot save time, whatever the
    lookahead.
    """
    token_s = verify[1]
    return min(
        ((seconds - token_s) / (width - 1) + step_s) / token_s
        for width, seconds in verify.items()
        if width > 1
    )


class Reason(StrEnum):
    """Why a round proposed as many tokens as it did."""

    ARS = "ars"  # the user chose ArS
    SPS = "sps"  # the user chose SpS
    CHOSEN = "chosen"  # the user chose the lookahead
    UNMEASURED = "unmeasured"  # nothing is known of what evaluations cost here
    NO_SOURCE = "no-source"  # nothing can propose
    FIRST = "first"  # the first token does not wait for a draft
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
    recomputed: float = 0.0  # share of the round's time, for tokens that were evaluated before
