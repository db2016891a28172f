"""`specchat models flatten`: a model whose wide batches cost less, made from one that is here."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from models.errors import ModelError
from tui.lab.stages import Stages
from tui.safe import safe
from tui.shell.confirmation import confirmed
from tui.shell.options import ModelParameter, settings
from tui.widgets.text_figures import size

if TYPE_CHECKING:
    from pathlib import Path

    from assistant.lab.slim.flat_trial import FlatFigures
    from models.files.discovery import LocalModel
    from models.slim.flattening import FlatFile
    from tui.settings.settings import Settings

_STAGES = 4


@click.command()
@click.argument("file", type=ModelParameter())
@click.option("--yes", is_flag=True, help="Keep it without asking, if it is faster here.")
@click.option("--anyway", is_flag=True, help="Keep it even if it is not.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, and ask nothing.")
@click.pass_context
def flatten(context: click.Context, file: str, yes: bool, anyway: bool, as_json: bool) -> None:
    """Make a copy of FILE that verifies proposals faster on a CPU; takes some minutes.

    Matrices whose type makes wide batches slow are requantised; all others stay as they are. Its
    answers differ a little. Its speed here and its distance from FILE are measured and shown before
    you decide whether to keep it. FILE itself is never changed.
    """
    from models.slim.flattening import flattened

    chosen = settings(context.find_root().params)
    source = _source(file)
    say = Stages(_STAGES)
    try:
        say("requantising")
        with flattened(source.path) as made:
            figures = _measured(source.path, made.path, chosen, say)
            if not as_json:
                click.echo("\n".join(map(safe, lines(source, made, figures))))
            is_wanted = _wanted(figures.helps, yes, anyway, asked=not as_json)
            kept = made.keep() if is_wanted else None
    except KeyboardInterrupt:
        click.echo("\nStopped; nothing was kept.", err=True)
        raise
    if as_json:
        click.echo(json.dumps(_facts(source, made, figures, kept)))
    elif kept:
        click.echo(safe(f"Kept {kept}. Use it with: --target {kept}"))
    else:
        click.echo("Nothing was kept.")


def _source(file: str) -> "LocalModel":
    """Return the model to flatten, which is whole and verifies batches."""
    from models.files.discovery import identify

    source = identify(file)
    if source.refusal:
        raise ModelError(f"{source.path} is {source.refusal}")
    if source.summary and source.summary.recurrent:
        raise ModelError(f"{source.path} is recurrent: only models of attention can be flattened.")
    return source


def _measured(source: "Path", flat: "Path", chosen: "Settings", say: Stages) -> "FlatFigures":
    from assistant.lab.opening import Opener
    from assistant.lab.slim.flat_trial import measure
    from models.cancel import CancelFlag
    from tui.models.locate_pair import alone

    return measure(source, flat, Opener(alone(source, chosen), CancelFlag()), say)


def _wanted(helps: bool, yes: bool, anyway: bool, asked: bool) -> bool:
    if anyway or yes or not asked:
        return anyway or (yes and helps)
    question = "Keep it?" if helps else "Keep it anyway?"
    unanswered = "Nothing was kept; --yes keeps what helps, --anyway all."
    return confirmed(question, unanswered, default=helps)


def lines(source: "LocalModel", made: "FlatFile", figures: "FlatFigures") -> Iterator[str]:
    """Yield what was changed, what it costs and gains, and how far it is from its source."""
    found = figures.divergence
    new = made.path.stat().st_size
    yield f"{made.recipe}: {made.share:.0%} of the weights of {source.name}"
    yield f"  {'':<18}{'as it is':>10}{'flattened':>11}"
    yield f"  {'size':<18}{size(source.size):>10}{size(new):>11}"
    for n, (first, second) in figures.verify.items():
        what = f"batch of {n}" if n > 1 else "a token"
        yield f"  {what:<18}{first * 1e3:>7.1f} ms{second * 1e3:>8.1f} ms   x{second / first:.2f}"
    first, second = figures.prefill
    yield f"  {'prompt, tokens/s':<18}{first:>10.0f}{second:>11.0f}   x{second / first:.2f}"
    yield (
        f"Its next tokens, at {found.tokens:,} places of sample text: the most likely one is the "
        f"same at {found.agreement:.1%}; KL divergence {found.mean:.4f} nats on average, "
        f"{found.p99:.3f} at the 99th percentile."
    )
    yield _verdict(figures)


def _verdict(figures: "FlatFigures") -> str:
    gain = (
        f"{figures.speedup:.2f} times as fast where 8 of 10 proposals are accepted, "
        f"{figures.plain:.2f} times without speculation"
    )
    return f"It answers {gain}." if figures.helps else f"It does not help here: it answers {gain}."


def _facts(
    source: "LocalModel", made: "FlatFile", figures: "FlatFigures", kept: "Path | None"
) -> dict[str, object]:
    from dataclasses import asdict

    names = "plain", "speedup", "helps"
    return {
        "source": source.reference,
        "recipe": made.recipe,
        "share": made.share,
        "figures": {**asdict(figures), **{name: getattr(figures, name) for name in names}},
        "made": kept and str(kept),
    }
