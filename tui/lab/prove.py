"""`specchat prove`: losslessness, checked on the user's machine and pair."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assistant.lab.table import ResultTable
from models.errors import SpecchatError
from tui.formatting import duration, wrap
from tui.lab.tables import lines
from tui.safe import safe
from tui.shell.options import settings, shared_options

if TYPE_CHECKING:
    from assistant.lab.protocol import Check, LabEvent, Layer, Proved

PROMISE = (
    "SpS samples from the same distribution the target computes in its verify batch. It is exact "
    "up to floating-point differences between batch sizes; at temperature 0 the wording can differ "
    "from one-token decoding where the two best tokens are nearly tied."
)
"""The promise, word for word the same everywhere."""
TITLES: "dict[Layer, str]" = {
    "noise": "Batch noise: the target's logits in wide batches compared with narrow ones",
    "greedy": "At temperature 0: SpS compared with ArS",
    "seed": "With a seed: SpS compared with ArS at the requested temperature",
    "turn": "With a seed, as in a chat: every source, and the controller decides",
    "restored": "A snapshot, dropped and restored from disk: the rest compared with ArS",
    "samples": "Without a seed, as in a chat: samples compared with the target's exact law",
}
MARKS = {True: "", False: "BROKEN ", None: "NOT TESTED "}


@click.command()
@click.option("--thorough", is_flag=True, help="Run larger tests, which take minutes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@shared_options
def prove(thorough: bool, as_json: bool, **options: Any) -> None:
    """Check on this machine that speculation changes nothing but the speed.

    Answers with and without speculation are compared: at temperature 0, with a seed, as in a chat,
    and from a snapshot on disk. Thousands of short answers without a seed are held against the
    target's own distribution. Wide batches must give the logits of narrow ones. It takes a minute
    or two. The exit code is 1 if a check fails.
    """
    chosen = settings(options)

    from assistant.lab.protocol import FALSE_ALARM, LAB, Check, Measuring, Prove
    from tui.shell.engine_console import EngineConsole, Stopped

    console = EngineConsole(LAB)
    checks, proved, error = list[Check](), None, None

    def handle(event: "LabEvent") -> None:
        match event:
            case Measuring(what, fraction, left_s):
                console.show_measuring(f"comparing {what}", fraction, left_s)
            case Check():
                checks.append(event)

    with console.open(starts_engine=True):
        setup, k, seed = console.pair(chosen), chosen.lookahead or None, chosen.seed or 0
        try:
            proved = console.run(Prove(setup, chosen.sampling, k, seed, thorough), handle)
        except Stopped:
            pass
        except SpecchatError as failure:
            error = failure
    conclusion = verdict(checks, proved, error)
    broken = any(check.holds is False for check in checks)
    if as_json:
        facts = {"verdict": conclusion, "holds": not broken, "complete": proved is not None}
        facts |= {"error": error and str(error), "promise": PROMISE, "false_alarm": FALSE_ALARM}
        about = asdict(proved) if proved else {}
        paths = [*map(str, about.pop("paths", ())), None, None]
        facts |= about | {"target": paths[0], "draft": paths[1]}
        layers = {layer: [asdict(c) for c in checks if c.layer == layer] for layer in TITLES}
        click.echo(json.dumps(facts | {"sampling": asdict(chosen.sampling), "layers": layers}))
    else:
        shown = [line for table in tables(checks) for line in (*lines(table), "")]
        click.echo("\n".join(map(safe, [*shown, *wrap(conclusion)])))
    if error is not None:
        raise error
    sys.exit(1 if broken else 130 if console.interrupted else 0)


def tables(checks: "list[Check]") -> Iterator[ResultTable]:
    """Yield a table for each layer of checks."""
    for layer, title in TITLES.items():
        if not (of_layer := [check for check in checks if check.layer == layer]):
            continue
        columns: dict[str, list[str | None]] = {
            "compared": [f"{MARKS[check.holds]}{check.what}" for check in of_layer],
            "": [check.note or None for check in of_layer],
        }
        for name in dict.fromkeys(name for check in of_layer for name in check.figures):
            columns[name] = [_figure(check.figures.get(name)) for check in of_layer]
        columns["p at most"] = [_figure(check.p_value) for check in of_layer]
        filled = {name: cells for name, cells in columns.items() if any(cells)}
        header = [(name, "s" if index else "") for index, name in enumerate(filled)]
        yield ResultTable(title, header, [*zip(*filled.values(), strict=True)])


def _figure(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:,.0f}" if value == int(value) else f"{value:.3g}"


def verdict(
    checks: "list[Check]", proved: "Proved | None", error: SpecchatError | None = None
) -> str:
    """Return the verdict in a few sentences."""
    if broken := [f"{check.layer}: {check.what}" for check in checks if check.holds is False]:
        named = "; ".join(broken)
        return f"Failed: {named}. Please report it, with the output of --json."
    if proved is None:
        stopped = "failed" if error else "was stopped"
        return f"No fault was found, but the check {stopped} before its end."
    if not proved.speculates:
        return "This target cannot roll back tokens, so it never speculates."
    without = "" if len(proved.paths) > 1 else f"{proved.no_draft} Only copies were proposed. "
    noise = max(check.figures.get("largest difference", 0.0) for check in checks)
    pair = " and ".join(Path(path).stem for path in proved.paths)
    return (
        f"All checks pass: with {pair}, speculation changes nothing but the speed. "
        f"{without}A correct pair fails in at most one of a million runs. It took "
        f"{duration(proved.seconds)}; seed {proved.seed}. The promise: {PROMISE} Measured here: a "
        f"batch moves a logit by {noise:.3g} at most."
    )
