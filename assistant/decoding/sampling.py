"""How tokens are drawn: the sampling parameters, and the distribution that a token is from."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers from `low` to `high`; with `excludes_low`, without `low` itself."""

    low: float
    high: float
    excludes_low: bool = False

    def __contains__(self, number: float) -> bool:
        return self.low <= number <= self.high and not (self.excludes_low and number == self.low)

    def __str__(self) -> str:
        if self.excludes_low:
            return f"above {self.low} and at most {self.high}"
        return f"from {self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How logits become a distribution: the penalty first, then the fields in their order.

    A `ValueError` names a number that is out of its range.
    """

    temperature: float = 0.7  # 0 takes the most probable token
    top_k: int = 40  # keep the k most probable tokens; 0 keeps all
    top_p: float = 0.95  # keep the smallest set that has this probability; 1 keeps all
    min_p: float = 0.0  # keep tokens with this share of the best one's probability
    repeat_penalty: float = 1.0  # divide the score of recent tokens; 1 is off
    repeat_window: int = 64  # how many tokens are recent
    RANGES: ClassVar[dict[str, Range]] = {
        "temperature": Range(0, 100),
        "top_k": Range(0, 1_000_000),
        "top_p": Range(0, 1, excludes_low=True),
        "min_p": Range(0, 1),
        "repeat_penalty": Range(0.01, 100),
        "repeat_window": Range(0, 1_000_000),
    }

    def __post_init__(self) -> None:
        for name, allowed in self.RANGES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be a number {allowed}: {getattr(self, name)}")


class Origin(StrEnum):
    """The distribution that a token was drawn from."""

    DRAFT = "draft"  # proposed by the draft and accepted by the target
    RESIDUAL = "residual"  # drawn from the residual instead of a rejected proposal
    TARGET = "target"
    """Drawn from the target's row: by ArS, after full acceptance, or, with a seed, a rejection."""
