"""What the papers say about speed, as pure formulas."""


def expected_tokens(acceptance_rate: float, k: int) -> float:
    """Return the expected tokens of a round that proposes `k`, each accepted independently.

    Leviathan et al. 2023, equation 1: (1 - a^(k+1)) / (1 - a).
    """
    return sum(acceptance_rate**i for i in range(k + 1))
