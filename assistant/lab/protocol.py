"""The jobs and events of the laboratories' worker. Plain frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from assistant.engine.engine_choice import EngineChoice
from assistant.events import Event
from assistant.lab.bench.events import Compared, Gauged
from assistant.process.protocol import Protocol
from assistant.request import SAID_IS_KEPT, Job, Request, Sampling, Setup, Tuning


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

    Trials of the same `system`, one after another, share what mode auto learns; others learn
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


Layer = Literal[
    "enumeration",
    "mistakes",
    "noise",
    "rollback",
    "greedy",
    "seed",
    "turn",
    "several",
    "restored",
    "sampling",
]
FALSE_ALARM = 1e-4
"""The probability that all tests of samples together reject a correct pair."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was compared."""

    layer: Layer
    what: str
    holds: bool | None  # None: it could not be tested, or is a measurement that nothing hangs on
    figures: Mapping[str, float] = field(default_factory=dict)
    p_value: float | None = None  # of a test; corrected for all tests of samples, by Holm
    note: str = ""


@dataclass(frozen=True, slots=True)
class Proved:
    """All comparisons are done."""

    paths: tuple[Path, ...]  # of the target, and of the draft if there is one
    no_draft: str | None  # why not, if there is none
    speculates: bool  # False: the target cannot roll back tokens, so nothing of it was compared
    seed: int
    seconds: float
    times: Mapping[str, float] = field(default_factory=dict)  # seconds of each part


OutlookSource = Literal["draft", "copying"]


@dataclass(frozen=True, slots=True)
class Measuring:
    """Something is being measured."""

    what: str
    fraction: float
    left_s: float | None  # None: too early to tell


@dataclass(frozen=True, slots=True)
class SettingTrial:
    """How one other setting did beside the usual ones, or another file beside the target's."""

    what: str
    role: Literal["target", "draft", "file"]
    ratios: Mapping[int, float] = field(default_factory=dict)  # of its seconds, by width
    ratio: float | None = None  # their geometric mean
    is_used: bool = False  # once this is kept
    speedup: float | None = None  # of a file, when 8 of 10 proposals are accepted
    note: str = ""  # why it was not measured


@dataclass(frozen=True, slots=True)
class Payoff:
    """From which acceptance rate a lookahead pays; None is never."""

    lookahead: int
    with_draft: float | None
    copying: float | None  # proposals that take no time


@dataclass(frozen=True, slots=True)
class RateOutlook:
    """What a source of an acceptance rate promises at its best lookahead, which may be 0."""

    acceptance_rate: float
    source: OutlookSource
    lookahead: int
    speedup: float


@dataclass(frozen=True, slots=True)
class Depth:
    """What evaluations cost after so many tokens."""

    tokens: int
    verify: Mapping[int, float]  # seconds by width
    draft: Mapping[int, float]  # seconds by tokens read; empty: no draft
    payoffs: tuple[Payoff, ...]
    outlooks: tuple[RateOutlook, ...]


@dataclass(frozen=True, slots=True)
class Tuned:
    """Everything that was found; if it is kept, it is in use from the next load on."""

    paths: tuple[Path, ...]  # of the target, and of the draft if there is one
    tunings: tuple[Tuning, ...]  # what is used for each
    trials: tuple[SettingTrial, ...]
    is_kept: bool  # False: other programs were too busy for figures that last
    depths: tuple[Depth, ...]
    engine: EngineChoice


LabEvent = Event | Measuring | Check | Tuned | Compared | Gauged | Proved


LAB = Protocol("assistant.lab.worker", LabJob, LabEvent)
