"""`specchat bench predict`: other machines."""

from pathlib import Path

import click

from tui.lab.bench.options import FILE, json


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
    """Say how fast the systems of a run would be on another machine.

    RUN is the file of a run of `specchat bench prompts`. Its answers are replayed with the very
    code that plans rounds; evaluations take the time of the machine's cost curve.
    """
    from assistant.lab.bench import simulated_machines, systems
    from assistant.lab.bench.prediction_report import report
    from assistant.lab.bench.run_answers import kept
    from assistant.lab.bench.run_file import load
    from tui.lab.bench.output import check_writable, show

    check_writable(json_file)
    known = {
        simulated_machines.machine(name).name: simulated_machines.machine(name) for name in names
    }
    facts, results = load(run)
    settings_ = facts["settings"]
    ways = systems.parse(spec or ",".join(settings_["systems"]))
    shown, figures = report(
        [*kept(results)],
        ways,
        settings_["sources"],
        {"here": None, **(known or simulated_machines.PRESETS)},
    )
    show(shown, facts, {"predictions": figures}, json_file, None)
