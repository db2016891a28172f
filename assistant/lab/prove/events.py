"""What proving says: each comparison, and what came of it. Plain frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

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
"""How likely all tests of samples together accuse a pair that is right."""


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
    """Everything has been gone through."""

    paths: tuple[Path, ...]  # of the target, and of the draft if there is one
    no_draft: str | None  # why not, if there is none
    speculates: bool  # False: the target cannot take tokens back, so nothing of it was compared
    seed: int
    seconds: float
    times: Mapping[str, float] = field(default_factory=dict)  # seconds of each part
