"""`specchat tune`: what evaluations cost here, and what that means for speculation."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from models.engines import ENGINES
from tui.safe import safe
from tui.shell.options import settings, shared

if TYPE_CHECKING:
    from assistant.engine.engine_trial import EngineFigures
    from assistant.lab.protocol import (
        Depth,
        LabEvent,
        OutlookSource,
        RateOutlook,
        SettingTrial,
        Tuned,
    )
    from models.engines import EngineName
    from tui.settings.settings import Settings

ROLES = ("target", "draft")
FASTER = 1.03
"""The speed-up from which on another file is recommended."""
SOURCES: "dict[OutlookSource, str]" = {"draft": "drafted", "copying": "copied"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@shared
def tune(as_json: bool, **options: Any) -> None:
    """Measure what evaluations cost on this machine, and when speculation pays.

    Settings that make them cheaper are used from then on, unless you set them yourself. It takes
    one to a few minutes; run nothing else meanwhile.
    """
    tuned = measure(settings(options))
    if as_json:
        click.echo(json.dumps(asdict(tuned), default=str))
    else:
        click.echo("\n".join(map(safe, lines(tuned))))


def measure(settings: "Settings") -> "Tuned":
    """Have the engine tune for the pair that the settings ask for, and show how far it is.

    Raises:
        SpecchatError: the models cannot be used, or what was found cannot be kept.
        KeyboardInterrupt: Ctrl-C; nothing was kept.
    """
    from assistant.lab.protocol import LAB, Measuring, Tune, Tuned
    from models.files.variants import siblings
    from tui.shell.engine_console import EngineConsole

    console = EngineConsole("looking for the models", protocol=LAB)

    def hear(event: "LabEvent") -> None:
        if isinstance(event, Measuring):
            console.measuring(f"measuring {event.what}", event.fraction, event.left_s)

    with console.shown():
        console.start()  # while the models are looked for
        setup = console.pair(settings)
        tuned: Tuned = console.run(Tune(setup, tuple(siblings(setup.target))), hear)
    return tuned


def lines(tuned: "Tuned") -> Iterator[str]:
    """Yield tables, and what they mean in sentences."""
    yield from (f"{role:<8}{path}" for role, path in zip(ROLES, tuned.paths, strict=False))
    yield f"engine  {ENGINES[tuned.engine.engine]}. {tuned.engine.reason}"
    yield from _engines(tuned.engine.figures)
    yield ""
    yield from _costs(tuned.depths)
    yield ""
    yield from _payoffs(tuned.depths)
    yield ""
    yield "Other settings and files, and their time compared with the usual:"
    yield from map(_trial, tuned.trials)
    yield ""
    yield from _meaning(tuned)


def _engines(figures: "Mapping[EngineName, EngineFigures]") -> Iterator[str]:
    """Yield what each engine takes, where they were compared."""
    for name, found in figures.items():
        widths = ", ".join(f"{width}: {s * 1000:.1f}" for width, s in found.seconds.items())
        reading = f"reads {1 / found.reading_s:.0f} tokens/s"
        yield f"        {ENGINES[name]} {reading}, evaluates in ms by tokens at once {widths}"


def _costs(depths: "Sequence[Depth]") -> Iterator[str]:
    yield f"{'tokens at once':<16}" + "".join(f"{_after(depth):>24}" for depth in depths)
    for width in depths[0].verify:
        yield f"{width:>14}  " + "".join(_cell(depth.verify, width) for depth in depths)
    if depths[0].draft:
        yield "the draft"
    for tokens in depths[0].draft:
        yield f"{tokens:>14}  " + "".join(_cell(depth.draft, tokens) for depth in depths)


def _cell(seconds: Mapping[int, float], tokens: int) -> str:
    return f"{seconds[tokens] * 1000:>13.1f} ms{seconds[tokens] / seconds[1]:>8.2f}"


def _after(depth: "Depth") -> str:
    return f"after {depth.tokens:,}"


def _payoffs(depths: "Sequence[Depth]") -> Iterator[str]:
    yield "A lookahead pays from this acceptance rate on:"
    yield f"{'lookahead':<16}" + "".join(f"{_after(depth):>24}" for depth in depths)
    yield " " * 16 + f"{'drafted':>12}{'copied':>12}" * len(depths)
    for rows in zip(*(depth.payoffs for depth in depths), strict=True):
        rates = (rate for row in rows for rate in (row.with_draft, row.copying))
        yield f"{rows[0].lookahead:>9}{'':<7}" + "".join(f"{_rate(rate):>12}" for rate in rates)


def _rate(rate: float | None) -> str:
    return "never" if rate is None else f"{rate:.2f}"


def _trial(trial: "SettingTrial") -> str:
    name = Path(trial.what).name if trial.role == "file" else trial.what
    if trial.ratio is None:
        return f"{trial.role:<8}{name}: not measured. {trial.note}"
    each = ", ".join(f"{width}: {ratio:.2f}" for width, ratio in trial.ratios.items())
    better = "  better" if trial.is_used else ""
    return f"{trial.role:<8}{name:<28}{trial.ratio:>6.2f}  ({each}){better}"


def _meaning(tuned: "Tuned") -> Iterator[str]:
    near = tuned.depths[0]
    token_s = near.verify[1]
    yield f"A token takes {token_s * 1000:.1f} ms, {1 / token_s:.1f} tokens/s without speculation."
    if near.draft:
        yield f"A step of the draft takes {near.draft[1] / token_s:.2f} of that."
    yield from (_promises(depth, source) for depth in tuned.depths for source in SOURCES)
    yield from (_file(trial) for trial in tuned.trials if trial.speedup is not None)
    yield from _verdict(tuned)


def _promises(depth: "Depth", source: "OutlookSource") -> str:
    outlooks = [outlook for outlook in depth.outlooks if outlook.source == source]
    if not outlooks:
        return f"After {depth.tokens:,} tokens, there is no draft."
    promises = ", ".join(map(_promise, outlooks))
    return f"After {depth.tokens:,} tokens, {SOURCES[source]} text accepted at {promises}."


def _promise(outlook: "RateOutlook") -> str:
    if outlook.lookahead == 0:
        return f"{outlook.acceptance_rate:.0%} does not pay"
    gain = f"makes it {outlook.speedup:.2f} times as fast (lookahead {outlook.lookahead})"
    return f"{outlook.acceptance_rate:.0%} {gain}"


def _file(trial: "SettingTrial") -> str:
    name, speedup = Path(trial.what).name, trial.speedup or 0.0
    speed = f"{name} answers {speedup:.2f} times as fast when 80% is accepted"
    if speedup < FASTER:
        return f"{speed}: no gain."
    return f"{speed}; its answers differ, as its weights do. Use it with: --target {trial.what}"


def _verdict(tuned: "Tuned") -> Iterator[str]:
    used = [trial for trial in tuned.trials if trial.is_used]
    if not tuned.is_kept:
        yield (
            "Other programs kept this machine busy, so nothing of this was kept. "
            "Run it again when nothing else is running."
        )
    elif used:
        named = ", ".join(f"{trial.role}: {trial.what}" for trial in used)
        yield f"From now on these files run with {named}."
    else:
        yield "The usual settings verify cheapest here; they stay."
