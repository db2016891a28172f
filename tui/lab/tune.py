"""`specchat tune`: what evaluations cost here, and what that means for speculation."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from assistant.decoding.lookahead import theory
from models.engines import ENGINES
from tui.safe import safe
from tui.shell.options import settings, shared

if TYPE_CHECKING:
    from assistant.lab.protocol import LabEvent, SettingTrial, Tuned

WIDTHS = (1, 2, 4, 8, 16, 32, 64)
LOOKAHEADS = (1, 2, 3, 4, 5, 7, 11, 15, 31)
"""What is shown."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@shared
def tune(as_json: bool, **options: Any) -> None:
    """Measure what evaluations cost on this machine, and when speculation pays.

    Engines and settings are compared; those that are faster are used from then on, unless you set
    them yourself. It takes one to a few minutes; run nothing else meanwhile.
    """
    chosen = settings(options)

    from assistant.lab.protocol import LAB, Measuring, Tune
    from tui.shell.engine_console import EngineConsole

    console = EngineConsole("looking for the models", protocol=LAB)

    def hear(event: "LabEvent") -> None:
        if isinstance(event, Measuring):
            console.measuring(f"measuring {event.what}", event.fraction, event.left_s)

    with console.shown(starts=True):
        tuned: Tuned = console.run(Tune(console.pair(chosen)), hear)
    if as_json:
        click.echo(json.dumps(asdict(tuned), default=str))
    else:
        click.echo("\n".join(map(safe, lines(tuned))))


def lines(tuned: "Tuned") -> Iterator[str]:
    """Yield tables, and what they mean in sentences."""
    yield from (f"{role:<8}{path}" for role, path in zip(("target", "draft"), tuned.paths))  # noqa: B905  # there may be no draft
    yield f"engine  {ENGINES[tuned.engine.engine]}. {tuned.engine.reason}"
    for name, found in tuned.engine.figures.items():
        widths = ", ".join(f"{width}: {s * 1000:.1f}" for width, s in found.seconds.items())
        reading = f"reads {1 / found.reading_s:.0f} tokens/s"
        yield f"        {ENGINES[name]} {reading}, evaluates in ms by tokens at once {widths}"
    yield ""
    yield f"{'tokens at once':<16}{'target':>24}{'draft':>24}"
    for width in WIDTHS:
        cells = (_cell(curve.get(width), curve.get(1)) for curve in (tuned.verify, tuned.draft))
        yield f"{width:>14}  {''.join(cells)}".rstrip()
    yield ""
    yield from _payoffs(tuned)
    yield ""
    yield "Other settings, and their time compared with the usual:"
    yield from map(_trial, tuned.trials)
    yield ""
    token_s = tuned.verify[1]
    yield f"A token takes {token_s * 1000:.1f} ms, {1 / token_s:.1f} tokens/s without speculation."
    used = [f"{trial.role}: {trial.what}" for trial in tuned.trials if trial.is_used]
    if not tuned.is_kept:
        yield (
            "Other programs kept this machine busy, so nothing of this was kept. "
            "Run it again when nothing else is running."
        )
    elif used:
        yield f"From now on these files run with {', '.join(used)}."
    else:
        yield "The usual settings are the fastest here; they stay."


def _cell(seconds: float | None, one: float | None) -> str:
    if not seconds or not one:
        return " " * 24
    return f"{seconds * 1000:>13.1f} ms{seconds / one:>8.2f}"


def _payoffs(tuned: "Tuned") -> Iterator[str]:
    """Yield from which acceptance rate on lookaheads pay, and what they bring at 80 %."""
    yield "A lookahead pays from this acceptance rate on, and makes it so fast where that is 80 %:"
    yield f"{'lookahead':<16}{'drafted':>18}{'copied':>18}"
    token_s, steps = tuned.verify[1], [tuned.draft.get(1), 0.0]
    for k in LOOKAHEADS:
        cells = ""
        for step_s in steps:
            round_s = tuned.verify[k + 1] + k * (step_s or 0.0)
            rate = theory.break_even(k, round_s, token_s)
            gain = theory.expected_tokens(theory.TYPICAL, k) * token_s / round_s
            text = f"{'never' if rate is None else f'{rate:.2f}'}{gain:>7.2f} ×"
            cells += f"{'' if step_s is None else text:>18}"
        yield f"{k:>9}{'':<7}{cells}"


def _trial(trial: "SettingTrial") -> str:
    if trial.ratio is None:
        return f"{trial.role:<8}{trial.what}: not measured. {trial.note}"
    each = ", ".join(f"{width}: {ratio:.2f}" for width, ratio in trial.ratios.items())
    better = "  better" if trial.is_used else ""
    return f"{trial.role:<8}{trial.what:<28}{trial.ratio:>6.2f}  ({each}){better}"
