"""Probabilities that are learnt, as the logarithms of their odds."""

from math import exp, log, sqrt

NEAREST = 0.005  # to 0 and 1: nothing is certain
FADE = 0.97  # of what was learnt, each round
RETURN = 0.99  # of how far it is from where it began, each round that shows nothing of it
SPREAD = ((1 / 6, -sqrt(3)), (2 / 3, 0.0), (1 / 6, sqrt(3)))
"""A normal distribution as three values, by weight (Gauss and Hermite)."""


class Odds:
    """The logarithm of odds, or a part of it, learnt from probabilities that are seen.

    Logistic regression, one step of Newton's for each observation: it moves by how unexpected that
    was, and the less the more is known already.

    Args:
        value: what is believed at first.
        information: how firmly; one over the variance.
    """

    def __init__(self, value: float, information: float) -> None:
        self.value = self._first = value
        self._least = self._information = information

    @property
    def deviation(self) -> float:
        """How far off the value may well be: a standard deviation."""
        return 1 / sqrt(self._information)

    def learn(self, seen: float, expected: float) -> None:
        """Take an observation of a probability that this is a part of."""
        self._information += expected * (1 - expected)
        self.value += (seen - expected) / self._information

    def fade(self, shown: bool) -> None:
        """Let a round pass: be less sure, and believe less of what it has not shown again."""
        self._information = self._least + FADE * (self._information - self._least)
        if not shown:
            self.value = self._first + RETURN * (self.value - self._first)


def log_odds(chance: float) -> float:
    """Return the logarithm of a probability's odds."""
    chance = min(max(chance, NEAREST), 1 - NEAREST)
    return log(chance / (1 - chance))


def probability(value: float) -> float:
    """Return the probability whose odds have this logarithm."""
    return 1 / (1 + exp(-value))
