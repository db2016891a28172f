"""`specchat bench`: what speculation is worth with your pair, on your machine."""

from pathlib import Path

import click

from tui.lab.bench.measuring_commands import paper, prompts, sweep
from tui.lab.bench.options import FILE, html, json


@click.group()
def bench() -> None:
    """Measure what speculation is worth with your pair, on your machine.

    Systems answer the same prompts together, a few tokens each in turn, so changes in the machine's
    speed cancel out. Each has its own contexts, which take memory. Results are saved as they come:
    Ctrl-C stops, and the same command with --run FILE resumes.
    """


@click.command()
@click.argument("a", type=FILE)
@click.argument("b", type=FILE)
@html
@json
def compare(a: Path, b: Path, json_file: Path | None, html_file: Path | None) -> None:
    """Compare two reports written by --json: B against A, question by question."""
    from assistant.lab.bench.compare_report import load, report
    from tui.lab.bench.output import check_writable, show

    check_writable(json_file, html_file)
    first, second = load(a), load(b)
    shown, differences = report(first, second)
    show(shown, second.facts, {"differences": differences}, json_file, html_file)


@click.command()
@click.argument("run", type=FILE)
@click.option(
    "--machine",
    "names",
    multiple=True,
    metavar="NAME",
    help="2-core-q4, 2-core-f16, flat-gpu, or a JSON file with seconds by width: "
    '{"verify": {"1": 0.044, "4": 0.118}, "draft": {"1": 0.02}, "host_s": 0}. May be repeated.  '
    "[all three]",
)
@click.option("--systems", "spec", metavar="SPEC", help="What is predicted.  [the run's own]")
@json
def predict(run: Path, names: tuple[str, ...], spec: str | None, json_file: Path | None) -> None:
    """Predict how fast the systems of a run would be on another machine.

    RUN is the file of a run of `specchat bench prompts`. Its answers are replayed with the same
    code that plans rounds, and evaluations take the time of that machine's cost curve.
    """
    from assistant.lab.bench import systems
    from assistant.lab.bench.prediction_report import report
    from assistant.lab.bench.run_answers import kept
    from assistant.lab.bench.run_file import load
    from assistant.lab.bench.simulator import PRESETS, machine
    from tui.lab.bench.output import check_writable, show

    check_writable(json_file)
    facts, results = load(run)
    settings = facts["settings"]
    ways = systems.parse(spec or ",".join(settings["systems"]))
    machines = {"here": None, **{Path(name).stem: machine(name) for name in names or PRESETS}}
    shown, figures = report([*kept(results)], ways, settings["sources"], machines)
    show(shown, facts, {"predictions": figures}, json_file, None)


for command in (prompts, sweep, paper, compare, predict):
    bench.add_command(command)
