"""The papers' formulas of speed, and those that show when a lookahead pays."""

from collections.abc import Callable, Mapping

TYPICAL = 0.8  # the acceptance rate that is assumed where none is known
LONGEST_WEIGHED = 15  # the most proposals of a round that are weighed here: verify width 16
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


def cheapest(verify: Callable[[int], float], step_s: float) -> float:
    """Return the least that a proposal costs, in evaluations of one token.

    `verify` gives the seconds of an evaluation by its width, `step_s` are those of making a
    proposal. A proposal saves at most the token that it is right about; so one that is accepted
    less often than this cannot save time, whatever the lookahead.
    """
    token_s = verify(1)
    return min(
        ((verify(k + 1) - token_s) / k + step_s) / token_s for k in range(1, LONGEST_WEIGHED + 1)
    )
