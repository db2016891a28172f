"""From the settings to the files on this machine."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from assistant.request import Setup
from models import catalog
from models.catalog import GGUF, HEADS
from models.drafts import best_draft, made_here
from models.errors import ModelMissing, SpecchatError, UsageError
from models.files.checksum import ready
from models.files.gguf_files import is_label
from models.files.locate import identify, resolve, variant
from models.files.places import cache_dir
from models.files.stores import discover, find
from models.machine import RPC_VARIABLE, rpc_servers
from models.progress import Report, silent
from tui.settings.settings import Settings

NO_DRAFT = "none"


def default_target() -> str:
    """Return the name of the target when none is asked for."""
    return catalog.DEFAULT.target.name


def find_models(settings: Settings, report: Report = silent) -> tuple[Setup, str | None]:
    """Return what to load, and why without a draft if there is none.

    A file whose bytes are known is verified before its first use, which takes seconds; `report`
    hears of it. For a target without a named draft the best one on this machine is chosen.

    Raises:
        ModelMissing: the target is not on this machine.
        ModelError: the target is damaged.
        UsageError: other machines are to compute, but specchat is offline.
    """
    reference = settings.target or default_target()
    target = _find_target(settings, reference, report)
    draft, no_draft = _find_draft(settings, reference, target, report)
    if settings.offline and rpc_servers():
        raise UsageError(f"{RPC_VARIABLE} names other machines, but you are offline.")
    setup = Setup(
        target,
        draft,
        settings.n_ctx,
        settings.threads,
        settings.gpu_layers,
        settings.engine,
        recalls=settings.save and settings.learn,
        cache=cache_dir(),
        heads=settings.draft == HEADS,
    )
    return setup, no_draft


def find_with(
    target: str | None, settings: Settings, report: Report = silent
) -> tuple[Setup, str | None]:
    """Return what to load with another target, if one is named: a model, or a quantisation.

    Raises:
        ModelMissing: there is no such model here.
    """
    if target is None or not is_label(target):
        return find_models(replace(settings, target=target or settings.target), report)
    setup, no_draft = find_models(settings, report)
    path = variant(setup.target, target)
    return replace(setup, target=ready(str(path), report)), no_draft


def offered(settings: Settings) -> GGUF:
    """Return the target to fetch on a machine without models: the one asked for if it is listed."""
    with suppress(SpecchatError):
        known = resolve(settings.target or default_target())
        if isinstance(known, GGUF):
            return known
    return catalog.DEFAULT.target


def _find_target(settings: Settings, reference: str, report: Report) -> Path:
    try:
        return ready(reference, report)
    except ModelMissing as missing:
        here = discover(settings.folders) if settings.target is None else ()
        if other := next((found for found in here if found.refusal is None), None):
            raise ModelMissing(
                f"The default model, {reference}, is not on this machine, but others are: name "
                f"one, as in --target {other.reference}, or fetch it: specchat models pull default"
            ) from missing
        raise


def _find_draft(
    settings: Settings, reference: str, target: Path, report: Report
) -> tuple[Path | None, str | None]:
    if settings.draft == NO_DRAFT:
        return None, "No draft, as you asked."
    if settings.draft == HEADS:
        return None, None
    wanted, reason = (settings.draft, "") if settings.draft else _choose(settings, reference)
    if wanted is None:
        return None, reason
    try:
        return ready(wanted, report), None
    except SpecchatError as error:
        return None, str(error)


def _choose(settings: Settings, reference: str) -> tuple[str | None, str]:
    """Return the draft to use for a target and why; other programs' files only when needed."""
    if made := made_here(identify(reference)):
        return made.reference, f"{made.name} was made to draft for {reference}."
    known = resolve(reference)
    listed = catalog.draft_for(known) if isinstance(known, GGUF) else None
    if listed and find(listed):
        return listed.name, f"{listed.name} is the draft listed for {reference}."
    here = list(discover(settings.folders))
    draft, reason = best_draft(identify(reference, here), here)
    return (draft.reference if draft else None), reason
