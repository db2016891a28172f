"""`specchat models slim`: a faster draft, made from a model file that is here."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from models.errors import ModelError, ModelMissing
from tui.lab.stages import Stages
from tui.safe import safe
from tui.shell.options import settings
from tui.widgets.text_figures import size

if TYPE_CHECKING:
    from assistant.lab.slim.search import RecipeTrial
    from models.files.discovery import LocalModel
    from tui.settings.settings import Settings


@click.command()
@click.argument("target", required=False)
@click.option("--draft", metavar="MODEL", help="What to make it from.  [the target's draft]")
@click.option(
    "--text",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Text like that the model will write, to choose the vocabulary by. May be repeated.",
)
@click.option(
    "--chats/--no-chats", default=True, help="Also choose it by your own chats.  [--chats]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def slim(
    context: click.Context,
    target: str | None,
    draft: str | None,
    files: tuple[Path, ...],
    chats: bool,
    as_json: bool,
) -> None:
    """Make a faster draft for TARGET, measured on this machine; takes some minutes.

    It tries smaller weights, fewer tokens and fewer layers, one after another. The draft that
    promises the fastest answers is kept with the models, and is preferred from then on; answers do
    not change. If no draft helps, nothing is kept.
    """
    chosen = settings(context.find_root().params)
    large, small = _pair(target, draft, chosen)

    def hear(trial: "RecipeTrial") -> None:
        if not as_json:
            click.echo(safe(_line(trial)))

    try:
        trials, made = _try_all(large, small, chosen, files, chats, hear)
    except KeyboardInterrupt:
        click.echo("\nStopped; nothing was kept.", err=True)
        raise
    verdict = _verdict(small, trials, made)
    if as_json:
        click.echo(json.dumps(_facts(large, small, trials, made, verdict)))
    else:
        click.echo(safe(verdict))


def _pair(
    target: str | None, draft: str | None, chosen: "Settings"
) -> "tuple[LocalModel, LocalModel]":
    """Return the target and what to make a draft from."""
    from models.drafts import Pairing, best_draft
    from models.files.discovery import discover, identify
    from tui.models.locate_pair import NO_DRAFT, default_target

    candidates = list(discover(chosen.folders))
    large = identify(target or chosen.target or default_target(), candidates)
    reference = draft or (None if chosen.draft == NO_DRAFT else chosen.draft)
    if reference:
        small = identify(reference, candidates)
        if not (judged := Pairing(large).judge(small)).serves:
            raise ModelError(f"{small.name} cannot draft for {large.name}: {judged.reason}.")
    else:
        # What was made before is no source: each step costs some acceptance.
        found, reason = best_draft(
            large, [each for each in candidates if not (each.summary and each.summary.serves)]
        )
        if found is None:
            raise ModelMissing(reason)
        small = found
    return large, small


def _try_all(
    large: "LocalModel",
    small: "LocalModel",
    chosen: "Settings",
    files: tuple[Path, ...],
    chats: bool,
    hear: "Callable[[RecipeTrial], None]",
) -> "tuple[list[RecipeTrial], Path | None]":
    """Return the trials, each of which is heard at once, and the file that is kept, if any."""
    from assistant.lab.opening import Opener
    from assistant.lab.slim.sample_text import counted, own_text
    from assistant.lab.slim.search import search, steps, winner
    from models.cancel import CancelFlag
    from models.drafts import mark
    from models.slim.workshop import workshop
    from tui.models.locate_pair import alone

    assert small.summary is not None  # it was judged by it
    say = Stages(3 + sum(map(len, steps(small.summary))))
    say("counting which tokens are used")
    own = list(own_text(files, chats))
    with workshop(small.path, lambda: counted(small.path, own)) as made:
        opener = Opener(alone(large.path, chosen), CancelFlag())
        trials: list[RecipeTrial] = []
        for trial in search(large.path, made, small.summary, chosen.sampling, opener, say):
            trials.append(trial)
            hear(trial)
        best = winner(trials)
        return trials, made.keep(best.recipe, mark(large)) if best else None


def _line(trial: "RecipeTrial") -> str:
    figures = trial.figures
    if figures is None:
        return f"  {trial.recipe!s:<44} {trial.problem}"
    return (
        f"  {trial.recipe!s:<44} {size(figures.size):>7}   step {figures.step:.2f}   "
        f"accepted {figures.greedy:.0%} greedy, {figures.sampled:.0%} sampled   "
        f"{figures.forecast.speedup:.2f}x"
    )


def _verdict(small: "LocalModel", trials: "list[RecipeTrial]", made: Path | None) -> str:
    source = trials[0].speedup
    best = max((trial.speedup for trial in trials[1:]), default=0.0)
    if made:
        promise = f"{best:.2f} times the speed of ArS, where {small.name} promises {source:.2f}"
        return f"Kept {made}: it promises {promise}."
    nothing = f"Nothing made from {small.name} is faster here"
    if not best:
        return f"{nothing}: nothing can be made from it."
    if best == source == 1:
        return f"{nothing}: guessing with it gains nothing."
    as_it_is = f"as it is, it promises {source:.2f} times the speed of ArS"
    return f"{nothing}: {as_it_is}, and the best of the others {best:.2f}."


def _facts(
    large: "LocalModel",
    small: "LocalModel",
    trials: "list[RecipeTrial]",
    made: Path | None,
    verdict: str,
) -> dict[str, object]:
    from dataclasses import asdict

    return {
        "target": large.reference,
        "draft": small.reference,
        "trials": [{**asdict(trial), "name": str(trial.recipe)} for trial in trials],
        "made": made and str(made),
        "verdict": verdict,
    }
