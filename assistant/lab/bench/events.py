"""What a measurement says: an answer and where its time went. Plain frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assistant.stats import Stats


@dataclass(frozen=True, slots=True)
class TimedRound:
    """A round, by what it cost."""

    width: int  # tokens in the target's batch
    tokens: int  # that it yielded
    verify_s: float  # in the target and around it
    draft_s: float


@dataclass(frozen=True, slots=True)
class CostCurves:
    """What evaluations cost where the answer was given, before any of its rounds was seen."""

    verify: Mapping[int, float]  # seconds by width
    draft: Mapping[int, float]  # seconds by tokens read; empty: no draft


@dataclass(frozen=True, slots=True)
class Judged:
    """A draft source along an answer: at each place, what the target thought of its proposal.

    A place where it had nothing to propose has -1 in both.
    """

    overlaps: tuple[float, ...]  # probability that its proposal is accepted
    evidence: tuple[int, ...]  # how much spoke for it, as the source counts


@dataclass(frozen=True, slots=True)
class Profile:
    """An answer with what every source would have proposed at each of its places."""

    tokens: tuple[int, ...]  # prompt and answer
    start: int  # where the answer begins
    sources: Mapping[str, Judged]
    margins: tuple[int | None, ...] = ()  # how sure the target was at each place of the answer


@dataclass(frozen=True, slots=True)
class Measured:
    """An answer that was measured."""

    text: str
    stop: str
    stats: Stats
    rounds: tuple[TimedRound, ...] = ()
    costs: CostCurves | None = None
    profile: Profile | None = None
    names: Mapping[str, str] = field(default_factory=dict)  # of the models, by role
    notice: str | None = None  # what goes on differently from what was asked
    pace: Mapping[int, float] = field(default_factory=dict)
    """Seconds of decoding by tokens, after each round of an answer in lockstep."""

    def seconds_to(self, tokens: int) -> float:
        """Return how long decoding took up to so many tokens; those of a round come evenly."""
        before, before_s = 0, 0.0
        for count, seconds in self.pace.items():
            if count >= tokens:
                return before_s + (seconds - before_s) * (tokens - before) / (count - before)
            before, before_s = count, seconds
        return before_s


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of trials in lockstep, in their order; a text says why one failed."""

    found: tuple[Measured | str, ...]


@dataclass(frozen=True, slots=True)
class Gauged:
    """How fast this machine reads memory."""

    bytes_per_s: float
