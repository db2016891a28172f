"""The jobs and events of the laboratories' worker, and its progress."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Literal

from assistant.engine.engine_choice import EngineChoice
from assistant.events import Event
from assistant.lab.bench.answers import Compared
from assistant.process.wire import Protocol
from assistant.request import EngineArgs, Job, LaneNumbers, Request, Sampling

TOO_EARLY = 0.02
"""The share of a measurement before which its remaining time is not estimated."""


@dataclass(frozen=True, slots=True)
class Tune:
    """Compare engines with a setup, and measure what evaluations cost."""

    setup: EngineArgs


@dataclass(frozen=True, slots=True)
class Trial:
    """An answer to be measured, as after loading; its models stay loaded for the next trial.

    Trials of the same `system`, one after another, share what mode auto learns; others learn
    nothing from them.
    """

    setup: EngineArgs
    system: str
    request: Request


@dataclass(frozen=True, slots=True)
class Lockstep:
    """Trials that advance together, the one with the fewest tokens first.

    So a change in the speed of the machine affects all of them alike.
    """

    trials: tuple[Trial, ...]
    part: LaneNumbers | None = None  # which trials this process runs; None: all

    @property
    def setups(self) -> list[EngineArgs]:
        """What each trial needs."""
        return [trial.setup for trial in self.trials]


@dataclass(frozen=True, slots=True)
class Prove:
    """Compare SpS with ArS in all ways, with a setup."""

    setup: EngineArgs
    sampling: Sampling = field(default_factory=Sampling)
    lookahead: int | None = None  # None: the usual one
    seed: int = 0  # of the texts that have one
    thorough: bool = False


LabJob = Job | Tune | Lockstep | Prove
"""The jobs of an engine with laboratories."""

Layer = Literal["noise", "greedy", "seed", "turn", "restored", "samples"]
FALSE_ALARM = 1e-6
"""The largest probability that samples reject a correct pair, over all tests."""


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison."""

    layer: Layer
    what: str
    holds: bool | None  # None: it could not be tested
    figures: Mapping[str, float] = field(default_factory=dict)
    p_value: float | None = None  # of samples: a bound, corrected for all tests of samples
    note: str = ""


@dataclass(frozen=True, slots=True)
class Proved:
    """All comparisons are done."""

    paths: tuple[Path, ...]  # of the target, and of the draft if there is one
    no_draft: str | None  # why not, if there is none
    speculates: bool  # False: the target cannot roll back tokens, so nothing of it was compared
    seed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Measuring:
    """Something is being measured."""

    what: str
    fraction: float
    left_s: float | None  # None: too early to tell


class Meter:
    """Emit the share of planned steps that is done, and the time left."""

    def __init__(self, planned: int, emit: Callable[[Measuring], None]) -> None:
        self._planned, self._done, self._emit = planned, 0, emit
        self._started = perf_counter()
        self.what = ""  # that is being measured

    def step(self) -> None:
        """Count a step as done."""
        self._done += 1
        fraction = min(self._done / self._planned, 1.0)
        elapsed = perf_counter() - self._started
        left_s = elapsed * (1 / fraction - 1) if fraction > TOO_EARLY else None
        self._emit(Measuring(self.what, fraction, left_s))


@dataclass(frozen=True, slots=True)
class Tuned:
    """All measurements; if they are kept, they are in use from the next load on."""

    paths: tuple[Path, ...]  # of the target, and of the draft if there is one
    is_kept: bool  # False: other programs were too busy for figures that last
    verify: Mapping[int, float]  # seconds of the target by width
    draft: Mapping[int, float]  # seconds of the draft by tokens read; empty: there is none
    engine: EngineChoice


LabEvent = Event | Measuring | Check | Tuned | Compared | Proved


LAB = Protocol("assistant.lab.worker", LabJob, LabEvent)
