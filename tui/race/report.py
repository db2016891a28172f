"""The JSON object that `race --json` prints."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assistant.events import ModelInfo, Stats
from assistant.request import Race
from models.files import checksum
from tui.race.track import LaneStanding, Track


def report(race: Race, tracks: Sequence[Track], sentence: str) -> dict[str, Any]:
    """Return everything about a race, as plain values; the first lane is the ratios' reference."""
    first = tracks[0].standing.tokens_per_s
    return {
        "prompt": race.request.messages[-1].content,
        "lanes": [_lane(track, first) for track in tracks],
        "verdict": sentence,
        "sampling": asdict(race.request.sampling),
        "seed": race.request.seed,
    }


def _lane(track: Track, first: float) -> dict[str, Any]:
    standing, ready = track.standing, track.ready
    lane, finished = standing.lane, standing.finished
    return {
        "name": lane.name,
        "mode": lane.mode,
        "lookahead": lane.lookahead,
        "target": _model(ready.target) if ready else None,
        "draft": _model(ready.draft) if ready and ready.draft else None,
        "text": finished and finished.text,
        "stop": finished and str(finished.stop),
        "failed": standing.failed,
        "compute_s": standing.clock,
        "ratio": _ratio(standing, first),
        "stats": standing.stats and _stats(standing.stats),
    }


def _ratio(standing: LaneStanding, first: float) -> float | None:
    return standing.tokens_per_s / first if first and standing.tokens_per_s else None


def _stats(stats: Stats) -> dict[str, Any]:
    return {
        **asdict(stats),
        "acceptance_rate": stats.acceptance_rate,
        "tokens_per_eval": stats.tokens_per_eval,
        "tokens_per_s": stats.tokens_per_s,
    }


def _model(model: ModelInfo) -> dict[str, Any]:
    """Return which file it is; a race does not wait for the sha256 of one never checked."""
    known = checksum.known_sha256(Path(model.path))
    return {"name": model.name, "path": model.path, "sha256": known}
