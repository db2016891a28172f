"""`specchat tune`: the cost of evaluations here, and when speculation pays."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from assistant.decoding.lookahead import forecast
from assistant.lab.table import Cell, ResultTable
from models.engines import ENGINES
from tui.lab.tables import lines
from tui.safe import safe
from tui.shell.options import settings, shared_options

if TYPE_CHECKING:
    from assistant.lab.protocol import LabEvent, Tuned

WIDTHS = (1, 2, 4, 8, 16, 32, 64)
LOOKAHEADS = (1, 2, 3, 4, 5, 7, 11, 15, 31)  # the rows of the table
READING = (("engine", ""), ("tokens/s read", ".0f"), ("tokens/s", ".1f"), ("answer, s", ".1f"))
PAYOFFS = (("lookahead", ""), ("drafted", ".2f"), ("×", ".2f"), ("copied", ".2f"), ("×", ".2f"))
PAYOFFS_NOTE = "The acceptance rate it takes, and the speed-up at 80 %."


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@shared_options
def tune(as_json: bool, **options: Any) -> None:
    """Measure what evaluations cost on this machine, and when speculation pays.

    Engines are compared; the faster one is used from then on, unless you set it yourself. It takes
    about a minute; run nothing else meanwhile.
    """
    chosen = settings(options)

    from assistant.lab.protocol import LAB, Measuring, Tune
    from tui.shell.engine_console import EngineConsole

    console = EngineConsole(LAB)

    def handle(event: "LabEvent") -> None:
        if isinstance(event, Measuring):
            console.show_measuring(f"measuring {event.what}", event.fraction, event.left_s)

    with console.open(starts_engine=True):
        tuned: Tuned = console.run(Tune(console.pair(chosen)), handle)
    if as_json:
        click.echo(json.dumps(asdict(tuned), default=str))
    else:
        click.echo("\n".join(map(safe, report(tuned))))


def report(tuned: "Tuned") -> Iterator[str]:
    """Yield the lines of the report."""
    yield from (f"{role:<8}{path}" for role, path in zip(("target", "draft"), tuned.paths))  # noqa: B905  # there may be no draft
    yield f"engine  {ENGINES[tuned.engine.engine]}. {tuned.engine.reason}"
    for table in _tables(tuned):
        if table.rows:
            yield from ("", *lines(table))
    token_s = tuned.verify[1]
    yield ""
    yield f"A token takes {token_s * 1000:.1f} ms, {1 / token_s:.1f} tokens/s without speculation."
    if not tuned.is_kept:
        yield (
            "Other programs kept this machine busy, so nothing of this was kept. "
            "Run it again when nothing else is running."
        )


def _tables(tuned: "Tuned") -> Iterator[ResultTable]:
    engines: list[list[Cell]] = [
        [ENGINES[name], 1 / measured.reading_s, 1 / measured.seconds[1], measured.answer_s]
        for name, measured in tuned.engine.figures.items()
    ]
    yield ResultTable("Engines, with the target", READING, engines)
    curves = {"target": tuned.verify, **({"draft": tuned.draft} if tuned.draft else {})}
    widths: list[list[Cell]] = [[str(width)] for width in WIDTHS]
    for curve in curves.values():
        for row, seconds in zip(widths, map(curve.get, WIDTHS), strict=True):
            row += [seconds and 1000 * seconds, seconds and seconds / curve[1]]
    columns = [column for role in curves for column in ((f"{role}, ms", ".1f"), ("× one", ".2f"))]
    yield ResultTable("Evaluations", [("tokens at once", ""), *columns], widths, bars=2)
    header = PAYOFFS if tuned.draft else (PAYOFFS[0], *PAYOFFS[3:])
    payoffs = [_payoff(tuned, k) for k in LOOKAHEADS]
    yield ResultTable("When a lookahead pays", header, payoffs, PAYOFFS_NOTE, len(header) - 1)


def _payoff(tuned: "Tuned", k: int) -> list[Cell]:
    """Return the break-even acceptance rate of a lookahead, and its gain at a typical rate.

    First with the cost of the draft, if there is one, then for copies, which cost nothing.
    """
    row: list[Cell] = [str(k)]
    for step_s in [tuned.draft[1], 0.0] if tuned.draft else [0.0]:
        token_s, round_s = tuned.verify[1], tuned.verify[k + 1] + k * step_s
        rate = forecast.break_even(k, round_s, token_s)
        gain = forecast.expected_tokens(forecast.TYPICAL, k) * token_s / round_s
        row += ["never" if rate is None else rate, gain]
    return row
