"""From the settings to the files on this machine."""

from pathlib import Path

from assistant.request import Setup
from models import catalog
from models.catalog import GGUF
from models.errors import SpecchatError
from models.files.check import ready
from models.files.locate import resolve
from models.files.progress import Report, silent
from tui.settings import Settings

NO_DRAFT = "none"


def default_target() -> str:
    """Return the name of the target when none is asked for."""
    return catalog.DEFAULT.target.name


def find_models(settings: Settings, report: Report = silent) -> tuple[Setup, str | None]:
    """Return what to load, and why without a draft if there is none.

    A file whose bytes are known is verified before its first use, which takes seconds; `report`
    hears of it.

    Raises:
        ModelMissing: the target is not on this machine.
        ModelError: the target is damaged.
    """
    reference = settings.target or default_target()
    target = ready(reference, report)
    draft, no_draft = _find_draft(settings.draft, reference, target, report)
    setup = Setup(target, draft, settings.n_ctx, settings.threads, settings.gpu_layers)
    return setup, no_draft


def fetchable(reference: str | None) -> tuple[GGUF, ...]:
    """Return what to fetch to make a reference work: a target and the draft listed for it."""
    try:
        target = resolve(reference) if reference else catalog.DEFAULT.target
    except SpecchatError:
        target = catalog.DEFAULT.target
    if isinstance(target, Path):
        target = catalog.DEFAULT.target
    draft = catalog.draft_for(target)
    return (target, draft) if draft else (target,)


def _find_draft(
    wanted: str | None, reference: str, target: Path, report: Report
) -> tuple[Path | None, str | None]:
    if wanted == NO_DRAFT:
        return None, "No draft, as you asked."
    if wanted is None:
        listed = _listed(reference, target)
        if listed is None:
            return None, f"No draft is listed for {target.name}; name one with --draft."
        wanted = listed.name
    try:
        return ready(wanted, report), None
    except SpecchatError as error:
        return None, str(error)


def _listed(reference: str, target: Path) -> GGUF | None:
    """Return the draft that the catalogue lists, also when the target was named by its path."""
    known = resolve(reference)
    if isinstance(known, Path):
        named = [gguf for gguf in catalog.FILES.values() if gguf.file == target.name]
        return catalog.draft_for(named[0]) if named else None
    return catalog.draft_for(known)
