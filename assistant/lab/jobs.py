"""What is asked of the laboratories. Plain frozen values: they may cross a process."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from assistant.request import SAID_IS_KEPT, Job, Request, Sampling, Setup


@dataclass(frozen=True, slots=True)
class Tune:
    """Measure what evaluations cost with a setup, and which settings make them cheaper."""

    setup: Setup
    variants: tuple[Path, ...] = ()  # other files of the target's model
    doing: ClassVar[str] = "measured this machine"
    kept: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """An answer to be measured, from cold caches; its models stay loaded for the next trial.

    Trials of the same `system`, one after the other, share what mode auto learns; others learn
    nothing from them.
    """

    setup: Setup
    system: str
    request: Request
    profiled: tuple[str, ...] = ()  # draft sources to be judged along the answer, afterwards


@dataclass(frozen=True, slots=True)
class Lockstep:
    """Trials that advance together, the one with the fewest tokens first.

    What slows this machine down, or lets it go, does so to all of them alike.
    """

    trials: tuple[Trial, ...]
    doing: ClassVar[str] = "measured answers"
    kept: ClassVar[str] = "What was measured so far is kept."


@dataclass(frozen=True, slots=True)
class Gauge:
    """Measure how fast this machine reads memory."""

    threads: int | None = None  # None: one per physical core
    doing: ClassVar[str] = "measured this machine"
    kept: ClassVar[str] = SAID_IS_KEPT


@dataclass(frozen=True, slots=True)
class Prove:
    """Compare SpS with ArS in every way there is, with a setup."""

    setup: Setup
    sampling: Sampling = field(default_factory=Sampling)
    lookahead: int | None = None  # None: the usual one
    seed: int = 0  # of all that is left to chance
    thorough: bool = False
    doing: ClassVar[str] = "compared SpS with ArS"
    kept: ClassVar[str] = ""


LabJob = Job | Tune | Lockstep | Gauge | Prove
"""What the engine does where the laboratories are at hand."""
