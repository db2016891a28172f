"""A system to compare, by the bench or in a race: a way to decode, with which models and engine."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from assistant.request import Mode
from models.engines import EngineName
from models.errors import UsageError

MAX_LOOKAHEAD = 31
MODES = ("ars", "sps", "auto")
_NAME = re.compile(
    r"(?:(?P<engine>llama|ik):)?(?:(?P<target>.+):)?(?P<way>[a-z+]+)(?:=(?P<lookahead>\d{1,9}))?",
    re.I,
)


@dataclass(frozen=True, slots=True)
class System:
    """One way to decode; the settings hold for all that it does not name."""

    name: str  # as it was written
    mode: Mode
    lookahead: int | None = None
    sources: tuple[str, ...] | None = None
    target: str | None = None  # a model, or a quantisation of the target
    engine: EngineName | None = None


def parse_system(text: str, kind: str, usage: str, sources: Sequence[str] = ()) -> System:
    """Return the system that `[ENGINE:][TARGET:]WAY[=K]` names.

    WAY is a mode, or some of the `sources` with + between them. UsageError if it is invalid; `kind`
    is what such a text is for, and `usage` how to write one.
    """
    match = _NAME.fullmatch(text)
    way = match["way"].lower() if match else ""
    if match is None or not (sources or way in MODES):
        raise UsageError(f"{text!r} is not a {kind}; {usage}.")
    names = None if way in MODES else tuple(way.split("+"))
    if unknown := [name for name in names or () if name not in sources]:
        known = f"neither a mode nor of {', '.join(sources)}"
        raise UsageError(f"{text!r} is not a {kind}: {unknown[0]!r} is {known}.")
    k = None if match["lookahead"] is None else int(match["lookahead"])
    if k is not None and (way in ("ars", "auto") or not 1 <= k <= MAX_LOOKAHEAD):
        goes = f"=K goes with sps{' or sources' if sources else ''}"
        raise UsageError(f"{text!r} is not a {kind}: {goes}, and K is 1 to {MAX_LOOKAHEAD}.")
    mode = cast(Mode, way) if names is None else "auto" if k is None else "sps"
    engine = cast(EngineName, match["engine"].lower()) if match["engine"] else None
    return System(text, mode, k, names, match["target"], engine)
