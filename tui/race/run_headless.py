"""A race without a screen: run it, then print the scoreboard or one JSON object."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import click

from assistant.events import Event, LaneEvent, ModelInfo, RaceReady, Stats
from assistant.request import AnswerForm, Race
from models.files import checksum
from tui.race.lanes import LaneSpec, line_up
from tui.race.track import Track
from tui.race.verdict import table, verdict
from tui.safe import safe
from tui.settings.settings import Settings
from tui.shell.engine_console import EngineConsole, looking

FAILED = 3
INTERRUPTED = 130


def find(
    entries: tuple[LaneSpec, ...], settings: Settings, prompt: str, form: AnswerForm | None = None
) -> Race:
    """Find the lanes' models, and say so where it takes a while.

    Raises:
        SpecchatError: a lane lacks what it needs.
    """
    with looking() as report:
        race = line_up(entries, settings, prompt, report)
    return replace(race, request=replace(race.request, form=form))


def run(race: Race, as_json: bool) -> int:
    """Have a race run, print what came of it, and return the exit code.

    Progress goes to standard error. Ctrl-C ends it early and keeps the text so far.

    Raises:
        SpecchatError: no lane could start.
        KeyboardInterrupt: Ctrl-C while loading, or twice.
    """
    tracks = [Track(lane) for lane in race.lanes]
    console = EngineConsole("starting", lively=True)

    def hear(event: Event) -> None:
        if isinstance(event, RaceReady):
            console.keeps = True  # from here on, there is something to keep
            for track, ready in zip(tracks, event.lanes, strict=True):
                track.line_up(ready)
        if isinstance(event, LaneEvent):
            tracks[event.lane].record(event)
            tracks[event.lane].play()
            console.say(f"tokens so far: {', '.join(map(_count, tracks))}")

    with console.shown():
        console.run(race, hear, keeps=False)
    standings = [track.standing for track in tracks]
    sentence = verdict(standings, race.request)
    if as_json:
        click.echo(json.dumps(_report(race, tracks, sentence)))
    else:
        click.echo("\n".join(safe("  ".join(row)) for row in table(standings)))
        click.echo(f"\n{safe(sentence)}")
    failures = [f"{each.lane.name}: {each.trouble}" for each in standings if each.trouble]
    for failure in failures:
        click.echo(safe(failure), err=True)
    return INTERRUPTED if console.interrupted else FAILED if failures else 0


def _count(track: Track) -> str:
    stats = track.standing.stats
    return f"{track.standing.lane.name} {stats.generated_tokens if stats else 0}"


def _report(race: Race, tracks: Sequence[Track], sentence: str) -> dict[str, Any]:
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
        "engine": ready and ready.engine,
        "text": finished and finished.text,
        "reasoning_content": (finished and finished.thought) or None,
        "stop": finished and str(finished.stop),
        "failed": standing.failed,
        **({"complete": False} if finished and not finished.complete else {}),
        "compute_s": standing.clock,
        "ratio": standing.tokens_per_s / first if first and standing.tokens_per_s else None,
        "stats": standing.stats and _stats(standing.stats),
    }


def _stats(stats: Stats) -> dict[str, Any]:
    return {
        **asdict(stats),
        "acceptance_rate": stats.acceptance_rate,
        "tokens_per_eval": stats.tokens_per_eval,
        "tokens_per_s": stats.tokens_per_s,
    }


def _model(model: ModelInfo) -> dict[str, Any]:
    """Return which file it is; a race does not wait for the sha256 of one never checked."""
    known = checksum.known_sha256(model.path)
    return {"name": model.name, "path": str(model.path), "sha256": known}
