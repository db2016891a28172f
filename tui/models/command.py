"""`specchat models`: what is on disk, where from, and which draft serves which target."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import click

from assistant.settings.settings import Settings
from models import catalog
from models.catalog import FILES
from models.drafts import NO_DRAFT, Pairing, best_draft, target_mark
from models.errors import ModelError, ModelMissing, SpecchatError
from models.files.checksum import check as verify
from models.files.gguf_files import parts_of
from models.files.locate import identify
from models.files.model_file import ModelFile, whole_header
from models.files.places import collapse_user
from models.files.stores import discover, find_gguf, installed_models
from models.gguf import read_vocabulary
from models.memory import estimate_by_size
from models.native import repacked
from tui.formatting import size, wrap
from tui.labels import plural
from tui.models import facts
from tui.models.inventory import ModelInventory
from tui.safe import safe
from tui.shell.options import NumberParameter, offer_models, settings

BYTES = ("size", "memory_at_8192", "copy_that_loads_at_once")  # facts in bytes
DEFAULT_LABEL = "Q4_K_M"  # the quantisation for a repository alone, as in llama.cpp
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+(?<!\.gguf)(?:@[\w.-]+)?")


@click.group("models", invoke_without_command=True)
@click.pass_context
def models(context: click.Context) -> None:
    """Show, fetch and check model files; alone, list them."""
    if context.invoked_subcommand is None:
        context.invoke(list_)


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(as_json: bool) -> None:
    """List the models on this machine, and those that can be fetched by name."""
    inventory = ModelInventory(settings({})).complete()
    if as_json:
        report = {
            "installed": [facts.file_facts(model, inventory) for model in inventory.models],
            "catalogue": [facts.catalogue_facts(file, inventory) for file in FILES.values()],
            "pairs": [
                {"name": p.name, "target": p.target.name, "draft": p.draft.name, "tested": p.tested}
                for p in catalog.PAIRS  # of one vocabulary
            ],
        }
        click.echo(json.dumps(report, default=asdict))
        return
    lines = [*facts.installed_lines(inventory)]
    if copied := repacked.copied_bytes():
        remove = "Remove them with: specchat models clear"
        lines.append(f"Copies that load at once take {size(copied)}. {remove}")
    click.echo(safe("\n".join([*lines, "", *facts.downloadable_lines(inventory)])))


@models.command()
def clear() -> None:
    """Remove the copies that load at once.

    They are made again when the models have been used, unless `copies = false` is set.
    """
    freed = repacked.copied_bytes()
    repacked.remove()
    click.echo(f"{size(freed)} freed.")


@models.command()
@click.argument("name", shell_complete=offer_models)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--template", is_flag=True, help="Print the chat template and nothing else.")
def show(name: str, as_json: bool, template: bool) -> None:
    """Show what a model is and what it takes to run it."""
    model_facts = facts.all_facts(name, ModelInventory(settings({})).complete())
    if template:
        click.echo(safe(str(model_facts["template"] or "")))
    elif as_json:
        click.echo(json.dumps(model_facts, default=asdict))
    else:
        for key, value in model_facts.items():
            if value not in (None, "", []) and key != "template":
                text = size(value) if key in BYTES and isinstance(value, int) else str(value)
                title = f"{key.replace('_', ' '):<20} "
                # A path stays on one line, to be copied.
                lines = [text] if key == "path" else wrap(text, " " * len(title))
                click.echo(safe(title + "\n".join(lines).lstrip()))


@models.command()
@click.argument("names", nargs=-1, shell_complete=offer_models)
@click.option("--offline", is_flag=True, help="Open no connection.")
@click.pass_context
def pull(context: click.Context, names: tuple[str, ...], offline: bool) -> None:
    """Fetch models; without NAMES, the default pair. An interrupted download resumes.

    A name is one of the catalogue, repo:file.gguf, or repo:Q8_0 for the file of a quantisation; of
    a repo alone, Q4_K_M is fetched. For the default pair a faster draft is made, which takes
    seconds; the downloaded one stays.
    """
    offline = offline or settings(context.find_root().params).offline
    try:
        for name in names or (catalog.DEFAULT.name,):
            for path in _pull(name, offline):
                click.echo(safe(str(path)))
    except KeyboardInterrupt:
        click.echo("\nStopped. Whole parts are kept; pull again to resume after them.", err=True)
        raise


def _pull(name: str, offline: bool) -> Iterator[Path]:
    """Fetch the files of a name, and yield the path of each."""
    from models.files.pull import pull as fetch  # it imports the network libraries
    from models.slim import slim_draft
    from tui.shell.progress_bar import meter

    files = [gguf.name for gguf in catalog.expand(name)] or [name]
    for number, wanted in enumerate(files, 1):
        _announce(wanted, offline)
        is_repository = _REPOSITORY.fullmatch(wanted) and not Path(wanted).exists()
        reference = f"{wanted}:{DEFAULT_LABEL}" if is_repository else wanted
        position = f"{number} of {len(files)}: " if files[1:] else ""
        with meter(f"{position}{reference}") as progress:
            path = fetch(reference, offline=offline, progress=progress)
        yield path  # after the bar is removed from the line
    if name.lower() == catalog.DEFAULT.name:
        with meter(catalog.DEFAULT.draft.name) as progress:
            faster = slim_draft.default_draft(progress)
        if faster:
            yield faster


def _announce(wanted: str, offline: bool) -> None:
    """Print the size, memory and licence of a catalogue model before it is fetched."""
    entry = catalog.find(wanted)
    if entry and not offline and find_gguf(entry) is None:
        needed = size(estimate_by_size(entry.size, entry.file).needed)
        terms = f"about {needed} of memory. Licence: {entry.licence}."
        click.echo(safe(f"{wanted}: {size(entry.size)} to fetch, {terms}"), err=True)


@models.command()
@click.argument("names", nargs=-1, shell_complete=offer_models)
def check(names: tuple[str, ...]) -> None:
    """Read model files from end to end and compare their checksums; without NAMES, all."""
    bad, is_all = 0, names in ((), ("all",))
    for name in [model.reference for model in installed_models()] if is_all else names:
        lines = list[str]()
        try:
            lines.extend(_check(name))
        except SpecchatError as error:
            bad += 1
            click.echo(safe(str(error)), err=True)
        for line in lines:  # of a split file that is damaged, those of the parts before
            click.echo(safe(line))
    if bad:
        raise ModelError(f"{plural(bad, 'model file')} cannot be used.")


def _check(name: str) -> Iterator[str]:
    from tui.shell.progress_bar import meter

    model = identify(name)
    reason = whole_header(model.path).unusable_reason  # raises if the header is broken
    parts = parts_of(model.path)
    for part in parts or [model.path]:
        label = part.name if parts else name
        with meter(label) as progress:
            digest = verify(file := replace(model, path=part), progress)
        verdict = "sha256 matches" if file.promised_sha256 else f"sha256 {digest}"
        yield f"{label}: complete, {verdict}"
    if reason:
        yield f"{name}: no chat model but {reason}"


@models.command()
@click.argument("target", required=False, shell_complete=offer_models)
@click.argument("draft", required=False, shell_complete=offer_models)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def pair(context: click.Context, target: str | None, draft: str | None, as_json: bool) -> None:
    """Say whether DRAFT, or each model on this machine, can draft for TARGET, and why not.

    Without TARGET, the one from the settings is used, or the default. The verdict comes from the
    files' headers, and what to expect from earlier measurements; nothing is loaded.
    """
    chosen = settings(context.find_root().params)
    target = target or chosen.target_name
    if draft is None and len(both := catalog.expand(target)) > 1:
        target = both[0].name
    inventory = ModelInventory(chosen)
    large = identify(target, [*inventory.scan()])
    whole_header(large.path)  # raises if the header is broken
    others = [model for model in inventory.models if model is not large]
    inventory.models = [identify(draft, inventory.models)] if draft else others
    judged = facts.draft_facts(inventory, large)
    if as_json:
        report = {"target": large.reference, "drafts": [asdict(d) for d in judged]}
        click.echo(json.dumps(report))
        return
    title = f"Drafts for {collapse_user(Path(large.reference))}:"
    lines = [title, *(line for d in judged for line in d.lines())]
    if not draft and not any(d.chosen for d in judged):
        lines.append(inventory.advise(large).reason)
    click.echo(safe("\n".join(lines)))


@models.command()
@click.argument("target", required=False, shell_complete=offer_models)
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
    large, small = _slim_pair(target, draft, settings(context.find_root().params))

    from models.slim import slim_draft, writing

    def judge(made: Path) -> None:
        if not (judged := Pairing(large).judge(identify(str(made)))).serves:
            fault = f"With {plural(tokens, 'token')}, {small.name} cannot draft for {large.name}"
            raise ModelError(f"{fault}: {judged.reason}. Keep more with --tokens.")

    try:
        ids = writing.most_frequent(read_vocabulary(small.path), tokens)
        made = slim_draft.make(small.path, ids, target_mark(large), judge)
    except KeyboardInterrupt:
        click.echo("\nStopped; nothing was kept.", err=True)
        raise
    sizes = f"{size(made.stat().st_size)}, where {small.name} has {size(small.size)}"
    click.echo(safe(f"Made {made}: {sizes}."))


def _slim_pair(
    target: str | None, draft: str | None, chosen: Settings
) -> tuple[ModelFile, ModelFile]:
    candidates = list(discover(chosen.folders))
    large = identify(target or chosen.target_name, candidates)
    reference = draft or (None if chosen.draft == NO_DRAFT else chosen.draft)
    if reference is None:
        # A slim draft is no source: each conversion costs some acceptance.
        sources = [model for model in candidates if not (model.header and model.header.serves)]
        best, reason = best_draft(large, sources)
        if best is None:
            raise ModelMissing(reason)
        return large, best
    small = identify(reference, candidates)
    if not (judged := Pairing(large).judge(small)).serves:
        raise ModelError(f"{small.name} cannot draft for {large.name}: {judged.reason}.")
    return large, small
