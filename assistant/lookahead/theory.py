"""What the papers say about speed, as pure formulas."""


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
