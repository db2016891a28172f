"""Which lanes a race has: from what a user writes to models on this machine."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from random import randrange
from typing import cast

from assistant.request import Lane, Mode, Race, Request, Setup
from assistant.settings.settings import Settings
from models.drafts import NO_DRAFT
from models.engines import EngineName
from models.errors import ModelError, UsageError
from models.files.gguf_files import is_label
from models.progress import Report, silent
from tui.figures import MODES

DEFAULT = "ars,sps"
MAX_LANES = 4
RACE_TOKENS = 256
"""Tokens of a lane's answer, where the user sets no length: enough to see who is faster."""
SEEDS = 2**32
"""How many seeds there are for a race without one."""

_LANE = re.compile(
    r"(?:(?P<engine>llama|ik):)?(?:(?P<target>.+):)?(?P<mode>ars|sps|auto)(?:=(?P<lookahead>\d+))?",
    re.I,
)
_FORM = (
    "write [ENGINE:][TARGET:]MODE[=K], where MODE is ars, sps or auto, and ENGINE llama or ik: "
    "f16:ars, q4:sps, sps=3, ik:auto"
)


@dataclass(frozen=True, slots=True)
class LaneSpec:
    """A lane as it was asked for; what it does not name is as the settings have it."""

    target: str | None
    mode: Mode
    lookahead: int | None = None
    engine: EngineName | None = None

    @property
    def name(self) -> str:
        """What the lane is called."""
        engine = f"{self.engine} " if self.engine else ""
        whose = f"{engine}{_short(self.target)} " if self.target else engine
        k = "" if self.lookahead is None else f" K={self.lookahead}"
        return f"{whose}{MODES[self.mode]}{k}"


def parse(spec: str) -> tuple[LaneSpec, ...]:
    """Return the lanes that `spec` lists, separated by commas.

    Raises:
        UsageError: it is invalid; the text says how to write it.
    """
    entries = tuple(_entry(part.strip()) for part in spec.split(","))
    if not 2 <= len(entries) <= MAX_LANES:
        raise UsageError(f"A race has 2 to {MAX_LANES} lanes, not {len(entries)}: {spec}")
    return entries


def _entry(text: str) -> LaneSpec:
    match = _LANE.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is not a lane; {_FORM}.")
    target, lookahead = match["target"], match["lookahead"]
    mode = cast(Mode, match["mode"].lower())
    engine = cast(EngineName, match["engine"].lower()) if match["engine"] else None
    if lookahead is None:
        return LaneSpec(target, mode, engine=engine)
    if mode != "sps" or not 1 <= int(lookahead) <= 31:
        raise UsageError(f"{text!r} is not a lane: =K goes with sps, and K is 1 to 31.")
    return LaneSpec(target, "sps", int(lookahead), engine)


def line_up(
    entries: tuple[LaneSpec, ...], settings: Settings, prompt: str, report: Report = silent
) -> Race:
    """Find every lane's models on this machine.

    Raises:
        ModelError: a lane lacks its target, or an SpS lane its draft.
    """
    from assistant.engine.engine_choice import told_apart  # imports what decodes

    lanes: list[Lane] = []
    for entry in entries:
        setup, no_draft = settings.setup(report, entry.target)
        if entry.mode == "sps" and not setup.has_draft and settings.draft != NO_DRAFT:
            raise ModelError(f"{no_draft} SpS needs a draft.")
        lanes.append(_lane(setup, entry, settings))
    setups = told_apart([lane.setup for lane in lanes])
    named = (replace(lane, setup=setup) for lane, setup in zip(lanes, setups, strict=True))
    return Race(tuple(named), _fair(settings.request(prompt)))


def duel(setup: Setup, settings: Settings, request: Request) -> Race:
    """Return the race of ArS against SpS between models that are found already."""
    lanes = tuple(_lane(setup, entry, settings) for entry in parse(DEFAULT))
    return Race(lanes, _fair(request))


def _fair(request: Request) -> Request:
    """Return a request that lanes of the same weights answer with the same text.

    Without a seed of the user's they share one that is drawn here.
    """
    seed = randrange(SEEDS) if request.seed is None else request.seed
    return replace(request, seed=seed, max_tokens=request.max_tokens or RACE_TOKENS)


def _lane(setup: Setup, entry: LaneSpec, settings: Settings) -> Lane:
    chosen = settings.lookahead if entry.lookahead is None else entry.lookahead
    setup = replace(setup, engine=entry.engine or setup.engine)
    return Lane(entry.name, setup, entry.mode, None if entry.mode == "ars" else chosen)


def _short(target: str) -> str:
    if is_label(target):
        return target.upper()
    return Path(target.rpartition(":")[2]).stem
