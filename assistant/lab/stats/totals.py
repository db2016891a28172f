"""Answers that have something in common, added up."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from assistant.stats import Stats, Tally


@dataclass(slots=True)
class Group:
    """What answers come to together; the rates are those of all their tokens."""

    answers: int = 0
    tokens: int = 0
    rounds: int = 0
    drafted: int = 0
    tested: int = 0
    accepted: int = 0
    decode_s: float = 0.0
    positions: tuple[Tally, ...] = ()  # by place in the round
    sources: dict[str, Tally] = field(default_factory=dict)
    compared: int = 0  # answers whose time by ArS can be told
    compared_s: float = 0.0  # what these took
    ars_s: float = 0.0  # and what ArS would have taken

    def add(self, stats: Stats) -> None:
        """Take an answer."""
        self.answers += 1
        self.tokens += stats.generated_tokens
        self.rounds += stats.rounds
        self.drafted += stats.drafted
        self.tested += stats.tested
        self.accepted += stats.accepted
        self.decode_s += stats.decode_s
        self.positions = summed(self.positions, stats.positions)
        for name, tally in stats.sources.items():
            self.sources[name] = _sum(self.sources.get(name, Tally()), tally)

    def compare(self, stats: Stats, ars_token_s: float) -> None:
        """Take what ArS would have needed for an answer."""
        self.compared += 1
        self.compared_s += stats.decode_s
        self.ars_s += stats.generated_tokens * ars_token_s

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted over tested; None when nothing was tested."""
        return self.accepted / self.tested if self.tested else None

    @property
    def tokens_per_eval(self) -> float | None:
        """Generated tokens over target evaluations; None without any."""
        return self.tokens / self.rounds if self.rounds else None

    @property
    def speedup(self) -> float | None:
        """How much longer ArS would have taken; None when that cannot be told."""
        return self.ars_s / self.compared_s if self.compared_s else None


def summed(one: Sequence[Tally], other: Sequence[Tally]) -> tuple[Tally, ...]:
    """Return tallies added place by place."""
    return tuple(_sum(*both) for both in zip_longest(one, other, fillvalue=Tally()))


def _sum(one: Tally, other: Tally) -> Tally:
    return Tally(one.tested + other.tested, one.accepted + other.accepted)
