"""What the papers say about speed, and when a lookahead pays, as pure formulas."""

from collections.abc import Callable, Mapping, Sequence

TYPICAL = 0.8
"""The acceptance rate that is reckoned with where none is known."""
LONGEST_WEIGHED = 15
"""Proposals of a round that are thought of here: verify width 16."""
STEPS = 20
"""Halvings of the interval in which the acceptance rate lies: to a millionth."""


def tokens_along(rates: Sequence[float]) -> float:
    """Return the expected tokens of a round whose proposals are accepted with these rates.

    Chen et al. 2023: a proposal is tested when all before it were accepted.
    """
    survival = tokens = 1.0
    for rate in rates:
        survival *= rate
        tokens += survival
    return tokens


def expected_tokens(acceptance_rate: float, k: int) -> float:
    """Return the expected tokens of a round that proposes `k`, each accepted independently.

    Leviathan et al. 2023, equation 1: (1 - a^(k+1)) / (1 - a).
    """
    return tokens_along([acceptance_rate] * k)


def wall_clock_factor(acceptance_rate: float, k: int, cost_ratio: float) -> float:
    """Return how much faster rounds of `k` proposals are, with a draft step of `cost_ratio`.

    Leviathan et al. 2023, theorem 3.8: (1 - a^(k+1)) / ((1 - a)(k c + 1)). It takes a batch to
    take as long as one token.
    """
    return expected_tokens(acceptance_rate, k) / (k * cost_ratio + 1)


def estimated_seconds(
    tokens: float, share: float, k: int, draft_step_s: float, target_s: float
) -> float:
    """Return how long `tokens` tokens take in rounds of `k` proposals.

    The estimate that explainers of Chen et al. 2023 give: N / (r (K + 1)) * (K t_draft + t_target),
    where r is the share of its K + 1 possible tokens that a round yields. It takes a batch to take
    as long as one token. With K = 4, a draft step of 1.8 ms and a target's token of 14.1 ms (those
    of Chen et al.) decoding is 2.65 times as fast where r = 0.8, and 2.05 times where r = 0.62.
    """
    return tokens / (share * (k + 1)) * (k * draft_step_s + target_s)


def operations_factor(acceptance_rate: float, k: int, operations_ratio: float) -> float:
    """Return how many times the arithmetic operations a token takes.

    Leviathan et al. 2023, theorem 3.11: (1 - a)(k c + k + 1) / (1 - a^(k+1)), where c is the ratio
    of the operations of both models for a token.
    """
    return (k * operations_ratio + k + 1) / expected_tokens(acceptance_rate, k)


def optimal_lookahead(acceptance_rate: float, cost_ratio: float, most: int = 31) -> int:
    """Return the lookahead with the largest wall-clock factor; 0 where none is above 1.

    Leviathan et al. 2023, section 3.5 and figure 3.
    """
    return max(range(most + 1), key=lambda k: wall_clock_factor(acceptance_rate, k, cost_ratio))


def fastest(
    acceptance_rate: float, verify: Mapping[int, float], step_s: float
) -> tuple[int, float]:
    """Return the lookahead with the most tokens per second, 0 included, and how many those are.

    `verify` has the seconds of evaluations by width, `step_s` is what a proposal costs.
    """
    speeds = {
        width - 1: expected_tokens(acceptance_rate, width - 1) / ((width - 1) * step_s + seconds)
        for width, seconds in verify.items()
    }
    best = max(speeds, key=lambda k: speeds[k])
    return best, speeds[best]


def best_lookahead(
    acceptance_rate: float, verify: Mapping[int, float], step_s: float
) -> tuple[int, float]:
    """Return the fastest lookahead, and its speed-up over ArS."""
    best, tokens_per_s = fastest(acceptance_rate, verify, step_s)
    return best, tokens_per_s / (1 / verify[1])


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


def lowest_break_even(verify: Mapping[int, float], step_s: float) -> float | None:
    """Return the acceptance rate from which some lookahead pays; None: none does."""
    rates = [
        break_even(width - 1, seconds + (width - 1) * step_s, verify[1])
        for width, seconds in verify.items()
        if width > 1
    ]
    return min((rate for rate in rates if rate is not None), default=None)


def cheapest(verify: Callable[[int], float], step_s: float) -> float:
    """Return the least that a proposal costs, in evaluations of one token.

    `verify` gives the seconds of an evaluation by its width, `step_s` is what a proposal takes to
    make. A proposal saves at most the token that it is right about; so one that is accepted less
    often than this cannot save time, whatever the lookahead.
    """
    token_s = verify(1)
    return min(
        ((verify(k + 1) - token_s) / k + step_s) / token_s for k in range(1, LONGEST_WEIGHED + 1)
    )
