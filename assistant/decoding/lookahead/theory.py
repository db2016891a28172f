"""What the papers say about speed, as pure formulas."""

TYPICAL = 0.8
"""The acceptance rate that is reckoned with where none is known."""


def expected_tokens(acceptance_rate: float, k: int) -> float:
    """Return the expected tokens of a round that proposes `k`, each accepted independently.

    Leviathan et al. 2023, equation 1: (1 - a^(k+1)) / (1 - a).
    """
    return sum(acceptance_rate**i for i in range(k + 1))


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
