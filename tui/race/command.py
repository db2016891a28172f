"""`specchat race`: the same prompt in lanes side by side."""

import json
import sys
from dataclasses import asdict, replace
from typing import Any

import click

from assistant.events import Event, RaceReady, Ready
from models.errors import UsageError
from models.files.checksum import known_sha256
from tui.race.lanes import parse, prepare_race
from tui.race.recorded import RecordedLane, RecordedRace, table, verdict
from tui.safe import safe
from tui.shell.engine_console import EngineConsole
from tui.shell.options import constraint_options, has_terminal, settings, shared_options
from tui.shell.received_answers import model_fields

FAILED = 3
INTERRUPTED = 130


@click.command()
@click.argument("prompt", required=False)
@click.option(
    "--lanes",
    "spec",
    metavar="SPEC",
    default="ars,sps",
    show_default=True,
    help="2 to 4 of [ENGINE:][TARGET:]MODE[=K], separated by commas. TARGET is a model, or a "
    "quantisation of the target that is on this machine, as in f16:ars,q4:ars,q4:sps.",
)
@constraint_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, and show nothing.")
@shared_options
def race(prompt: str | None, spec: str, as_json: bool, **options: Any) -> None:
    """Answer PROMPT in several lanes and compare their speed.

    The lanes take turns, so each computes for the same time. On a terminal the race is shown live,
    then replayed at true speed; elsewhere the scoreboard is printed.
    """
    if prompt is None or not prompt.strip():
        raise UsageError("There is no prompt. Try: specchat race 'Write a haiku about rivers'")
    chosen = settings(options)

    from tui.shell.ask_inputs import constraint_of

    entries, constraint = parse(spec), constraint_of(options)
    is_printed = as_json or not has_terminal()
    console = EngineConsole()
    with console.open():
        race = prepare_race(entries, chosen, prompt, console.show_check)
        request = replace(race.request, constraint=constraint)
        recorded = RecordedRace(replace(race, request=request))
        if is_printed:
            run(recorded, console)
    if is_printed:
        code = _print_race(recorded, as_json)
        sys.exit(INTERRUPTED if console.interrupted else code)

    from tui.race.screen import RaceApp

    app = RaceApp(recorded.race, chosen)
    app.run()
    sys.exit(app.return_code)


def run(recorded: RecordedRace, console: EngineConsole) -> None:
    """Run and record a race; a `SpecchatError` says that no lane could start.

    Ctrl-C stops it and keeps the text so far. While loading, or twice, it raises.
    """

    def handle(event: Event) -> None:
        recorded.add(event)
        if isinstance(event, RaceReady):
            console.stoppable = True  # from here on, Ctrl-C keeps the text
        figures = ((lane.lane.name, lane.stats) for lane in recorded.lanes)
        tokens = [f"{name} {stats.generated_tokens if stats else 0}" for name, stats in figures]
        writing = f"tokens so far: {', '.join(tokens)}"
        console.show_progress(recorded.activity.text if recorded.activity else writing)

    console.run(recorded.race, handle, stoppable=False)


def _print_race(recorded: RecordedRace, as_json: bool) -> int:
    """Print the outcome of a race; return the exit code."""
    sentence = " ".join(filter(None, verdict(recorded.lanes, recorded.race.request)))
    if as_json:
        click.echo(json.dumps(_report(recorded, sentence)))
    else:
        click.echo("\n".join(safe("  ".join(row)) for row in table(recorded.lanes)))
        click.echo(f"\n{safe(sentence)}")
    failures = [f"{lane.lane.name}: {lane.failure}" for lane in recorded.lanes if lane.failure]
    for failure in failures:
        click.echo(safe(failure), err=True)
    return FAILED if failures else 0


def _report(recorded: RecordedRace, sentence: str) -> dict[str, Any]:
    """Return the JSON report of a race; ratios are relative to the first lane."""
    request, first = recorded.race.request, recorded.lanes[0].tokens_per_s
    return {
        "prompt": request.messages[-1].content,
        "lanes": [_lane(lane, first) for lane in recorded.lanes],
        "verdict": sentence,
        "sampling": asdict(request.sampling),
        "seed": request.seed,
    }


def _lane(recorded: RecordedLane, first: float) -> dict[str, Any]:
    lane, finished, stats = recorded.lane, recorded.finished, recorded.stats
    ready = recorded.ready if isinstance(recorded.ready, Ready) else None
    figures = "acceptance_rate", "tokens_per_eval", "tokens_per_s"
    return {
        "name": lane.name,
        "mode": lane.mode,
        "lookahead": lane.lookahead,
        "target": ready and model_fields(ready.target, known_sha256),
        "draft": model_fields(ready.draft, known_sha256) if ready and ready.draft else None,
        "engine": ready and ready.engine,
        "text": finished and finished.text,
        "reasoning_content": (finished and finished.thought) or None,
        "stop": finished and str(finished.stop),
        "failed": recorded.error,
        **({"complete": False} if finished and not finished.complete else {}),
        "compute_s": recorded.clock,
        "ratio": recorded.tokens_per_s / first if first and recorded.tokens_per_s else None,
        "stats": stats and asdict(stats) | {name: getattr(stats, name) for name in figures},
    }
