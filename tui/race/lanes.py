"""The lanes of a race: parsing their specification, and finding their models."""

from dataclasses import replace
from pathlib import Path
from random import randrange

from assistant.request import COPYING, EngineArgs, Lane, Race, Request
from assistant.settings.settings import Settings
from assistant.system import System, parse_system
from models.errors import ModelError, UsageError
from models.files.gguf_files import is_label
from models.progress import Report, silent
from tui.shell.engine_console import report_missing_draft

DEFAULT = "ars,sps"
LANE_NAMES = {"ars": "without guesses", "sps": "with guesses", "auto": "guesses auto"}
"""Names of lanes by mode."""
MAX_LANES = 4
RACE_TOKENS = 256
"""Most tokens of a lane's answer, unless the user sets a length."""
SEEDS = 2**32  # seeds to draw from

_SYNTAX = (
    "write [ENGINE:][TARGET:]MODE[=K], where MODE is ars, sps or auto, and ENGINE llama or ik: "
    "f16:ars, q4:sps, sps=3, ik:auto"
)


def parse(spec: str) -> tuple[System, ...]:
    """Return the lanes that `spec` lists; a UsageError says how to write it."""
    entries = tuple(parse_system(part.strip(), "lane", _SYNTAX) for part in spec.split(","))
    if not 2 <= len(entries) <= MAX_LANES:
        raise UsageError(f"A race has 2 to {MAX_LANES} lanes, not {len(entries)}: {spec}")
    return entries


def prepare_race(
    entries: tuple[System, ...], settings: Settings, prompt: str, report: Report = silent
) -> Race:
    """Find every lane's models here; a ModelError names a missing target, or a needed draft."""
    from assistant.engine.engine_choice import with_engines  # imports the decoder

    lanes, reasons = list[Lane](), dict[str | None, None]()  # why lanes have no draft
    for entry in entries:
        setup, no_draft = settings.setup(report, entry.target)
        guesses = setup.draft or COPYING & {*settings.draft_sources}
        if entry.mode == "sps" and not guesses:
            raise ModelError(f"SpS needs a draft. {no_draft}")
        lanes.append(_lane(setup, entry, settings))
        if entry.mode != "ars":
            reasons[no_draft] = None
    for reason in reasons:
        report_missing_draft(reason, settings, is_measured=True)
    setups = with_engines([lane.setup for lane in lanes])
    chosen = (replace(lane, setup=setup) for lane, setup in zip(lanes, setups, strict=True))
    return Race(tuple(chosen), _with_seed(settings.request(prompt)))


def race_ars_and_sps(setup: EngineArgs, settings: Settings, request: Request) -> Race:
    """Return the race of the loaded models without guesses and with them."""
    lanes = tuple(_lane(setup, entry, settings) for entry in parse(DEFAULT))
    return Race(lanes, _with_seed(request))


def _with_seed(request: Request) -> Request:
    """Return a request with a seed and a limit: lanes of the same weights answer the same."""
    seed = randrange(SEEDS) if request.seed is None else request.seed
    return replace(request, seed=seed, max_tokens=request.max_tokens or RACE_TOKENS)


def _lane(setup: EngineArgs, entry: System, settings: Settings) -> Lane:
    chosen = settings.lookahead if entry.lookahead is None else entry.lookahead
    setup = replace(setup, engine=entry.engine or setup.engine)
    return Lane(lane_name(entry), setup, entry.mode, None if entry.mode == "ars" else chosen)


def lane_name(entry: System) -> str:
    """Return the name of a lane."""
    target, k = entry.target, entry.lookahead
    name = target and (target.upper() if is_label(target) else Path(target.rpartition(":")[2]).stem)
    mode = LANE_NAMES[entry.mode] if k is None else f"with {k} guess{'es' if k > 1 else ''}"
    return " ".join(filter(None, (entry.engine, name, mode)))
