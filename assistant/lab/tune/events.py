"""What tuning says: how far it has come, and what it has found. Plain frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from assistant.request import Tuning

Source = Literal["draft", "copying"]


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
class Outlook:
    """What a source of an acceptance rate promises at its best lookahead, which may be 0."""

    acceptance_rate: float
    source: Source
    lookahead: int
    speedup: float


@dataclass(frozen=True, slots=True)
class Depth:
    """What evaluations cost after so many tokens."""

    tokens: int
    verify: Mapping[int, float]  # seconds by width
    draft: Mapping[int, float]  # seconds by tokens read; empty: no draft
    payoffs: tuple[Payoff, ...]
    outlooks: tuple[Outlook, ...]


@dataclass(frozen=True, slots=True)
class Tuned:
    """Everything that was found; if it is kept, it is in use from the next load on."""

    paths: tuple[Path, ...]  # of the target, and of the draft if there is one
    tunings: tuple[Tuning, ...]  # what is used for each
    trials: tuple[SettingTrial, ...]
    is_kept: bool  # False: other programs were too busy for figures that last
    depths: tuple[Depth, ...]
