"""The systems to compare: ways to decode, by name."""

import re
from dataclasses import dataclass
from typing import cast

from assistant.request import BASELINES, SOURCES, Mode
from models.engines import EngineName
from models.errors import UsageError

MAX_LOOKAHEAD = 31
DEFAULT = "ars,sps=4,auto"
FORM = (
    "write ars, auto, sps[=K], or draft sources and K, as in model=4 or suffix+model=3, after "
    "[ENGINE:][TARGET:], as in ik:auto, f16:ars or llama:q4_0:sps=3"
)
_NAME = re.compile(
    r"(?:(?P<engine>llama|ik):)?(?:(?P<target>[^=]+):)?(?P<way>[a-z+]+)(?:=(?P<lookahead>\d+))?"
)


@dataclass(frozen=True, slots=True)
class System:
    """One way to decode; without sources it has those of the settings."""

    name: str
    mode: Mode
    lookahead: int | None = None
    sources: tuple[str, ...] | None = None
    target: str | None = None  # a model, or a quantisation of the target; None: the target itself
    engine: EngineName | None = None  # None: the settings' own


ARS = System("ars", "ars")


def parse(text: str) -> tuple[System, ...]:
    """Return the systems that `text` lists, separated by commas, after ArS of the same target.

    That is added if it is not listed; of several engines', the first that is.

    Raises:
        UsageError: it is invalid; the text says how to write it.
    """
    systems = [_system(part.strip()) for part in text.split(",")]
    names = [system.name for system in systems]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"{twice} is listed twice.")
    plain = (system for system in systems if system.mode == "ars" and system.target is None)
    reference = next(plain, ARS)
    return (reference, *(system for system in systems if system != reference))


def sweep(source: str, lookaheads: str) -> tuple[System, ...]:
    """Return ArS and the systems of a source with each of the listed lookaheads, ascending.

    Raises:
        UsageError: the list or the source is invalid.
    """
    try:
        ks = sorted({int(part) for part in lookaheads.split(",")} - {0})
    except ValueError as error:
        raise UsageError(f"{lookaheads!r} is not a list of lookaheads, as in 1,2,4,8.") from error
    return parse(",".join(["ars", *(f"{source}={k}" for k in ks)]))


def _system(text: str) -> System:
    match = _NAME.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is not a system; {FORM}.")
    target, way, lookahead = match["target"], match["way"], match["lookahead"]
    engine = cast(EngineName | None, match["engine"])
    k = None if lookahead is None else int(lookahead)
    if k is not None and (way in ("ars", "auto") or not 1 <= k <= MAX_LOOKAHEAD):
        raise UsageError(
            f"{text!r} is not a system: =K goes with sps or sources, and is 1 to {MAX_LOOKAHEAD}."
        )
    if way in ("ars", "auto", "sps"):
        return System(text, cast(Mode, way), k, None, target, engine)
    return System(text, "auto" if k is None else "sps", k, _sources(text, way), target, engine)


def _sources(text: str, way: str) -> tuple[str, ...]:
    names = tuple(way.split("+"))
    if unknown := [name for name in names if name not in SOURCES + BASELINES]:
        known = f"neither a mode nor of {', '.join(SOURCES + BASELINES)}"
        raise UsageError(f"{text!r} is not a system: {unknown[0]!r} is {known}.")
    return names
