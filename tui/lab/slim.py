"""`specchat models slim`: a faster draft, made from a model file that is here."""

from typing import TYPE_CHECKING

import click

from models.errors import ModelError, ModelMissing
from tui.safe import safe
from tui.shell.options import NumberParameter, settings
from tui.widgets.text_figures import size

if TYPE_CHECKING:
    from assistant.settings.settings import Settings
    from models.files.model_file import ModelFile


@click.command()
@click.argument("target", required=False)
@click.option("--draft", metavar="MODEL", help="What to make it from.  [the target's draft]")
@click.option(
    "--tokens",
    type=NumberParameter(1),
    default=64_000,
    show_default=True,
    help="How many tokens of its vocabulary to keep.",
)
@click.pass_context
def slim(context: click.Context, target: str | None, draft: str | None, tokens: int) -> None:
    """Make a faster draft for TARGET, in seconds.

    Its weights are requantised to Q4_0, and of its vocabulary only the most frequent tokens are
    kept. TARGET prefers it from then on; answers keep their distribution. `specchat bench prompts`
    measures what it is worth, and deleting the file undoes it.
    """
    large, small = _pair(target, draft, settings(context.find_root().params))

    from models.drafts import mark
    from models.gguf import read_vocabulary
    from models.slim import slim_draft, writing

    try:
        kept = writing.most_frequent(read_vocabulary(small.path), tokens)
        made = slim_draft.make(small.path, kept, mark(large))
    except KeyboardInterrupt:
        click.echo("\nStopped; nothing was kept.", err=True)
        raise
    sizes = f"{size(made.stat().st_size)}, where {small.name} has {size(small.size)}"
    click.echo(safe(f"Made {made}: {sizes}."))


def _pair(
    target: str | None, draft: str | None, chosen: "Settings"
) -> "tuple[ModelFile, ModelFile]":
    from models.drafts import NO_DRAFT, Pairing, best_draft
    from models.files.locate import identify
    from models.files.stores import discover

    candidates = list(discover(chosen.folders))
    large = identify(target or chosen.target_name, candidates)
    reference = draft or (None if chosen.draft == NO_DRAFT else chosen.draft)
    if reference is None:
        # What was made before is no source: each step costs some acceptance.
        sources = [each for each in candidates if not (each.header and each.header.serves)]
        found, reason = best_draft(large, sources)
        if found is None:
            raise ModelMissing(reason)
        return large, found
    small = identify(reference, candidates)
    if not (judged := Pairing(large).judge(small)).serves:
        raise ModelError(f"{small.name} cannot draft for {large.name}: {judged.reason}.")
    return large, small
