"""From what a person calls a model to the file it is on this machine. Opens no connection."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from models import catalog
from models.catalog import GGUF
from models.errors import ModelError, ModelMissing, UsageError
from models.files import labels, layout, ollama
from models.files.places import models_dir

_HUB_FILE = re.compile(r"([\w.-]+/[\w.-]+)(?:@([\w.-]+))?:(.+)")


@dataclass(frozen=True, slots=True)
class Installed:
    """A model file that is on this machine, whole as far as its name tells."""

    reference: str  # what to call it on the command line
    path: Path
    size: int
    gguf: GGUF | None  # its entry in the catalogue
    repo: str | None


def resolve(reference: str) -> GGUF | Path:
    """Return what a reference means: a file of a repository or the catalogue, or a path."""
    if gguf := catalog.find(reference):
        return gguf
    if os.path.exists(reference):
        return Path(reference)
    if match := _HUB_FILE.fullmatch(reference):
        return _hub_file(reference, *match.groups())
    if reference.startswith(ollama.PREFIX):
        return _of_ollama(reference)
    if os.sep in reference or reference.lower().endswith(".gguf"):
        return Path(reference).expanduser()
    raise _unknown(reference)


def locate(reference: str) -> Path:
    """Return where a model is: given by a path, by its name in the catalogue, or by `repo:file`.

    Raises `ModelMissing`, whose text says how to fetch it, when it is not on this machine.
    """
    wanted = resolve(reference)
    if isinstance(wanted, GGUF):
        if found := find(wanted):
            return found
        raise ModelMissing(
            f"{reference} is not on this machine. Fetch it with: specchat models pull {reference}"
        )
    if not wanted.exists():
        raise ModelMissing(f"There is no file {wanted}. {_guess(reference)}")
    if not wanted.is_file():
        raise ModelError(f"{wanted} is not a file; give the path of a .gguf file.")
    return wanted


def find(gguf: GGUF) -> Path | None:
    """Return where a file is, if this machine has it."""
    path = models_dir() / gguf.file
    if os.path.isfile(path) and (gguf.sha256 is None or path.stat().st_size == gguf.size):
        return path
    return layout.cached(gguf)


def installed() -> list[Installed]:
    """Return every model file that is on this machine; partial downloads are not among them."""
    seen: set[Path] = set()
    models: list[Installed] = []
    for model in (*catalogued(), *_in_hub_cache(), *_in_models_dir()):
        real = model.path.resolve()
        if real not in seen and layout.is_whole(model.path):
            seen.add(real)
            models.append(model)
    return models


def catalogued() -> Iterator[Installed]:
    """Yield the models of the catalogue that are on this machine."""
    for gguf in catalog.FILES.values():
        if path := find(gguf):
            yield Installed(gguf.name, path, path.stat().st_size, gguf, gguf.repo)


def _in_hub_cache() -> Iterator[Installed]:
    for repo, file, path in layout.scan():
        yield Installed(f"{repo}:{file}", path, path.stat().st_size, None, repo)


def _in_models_dir() -> Iterator[Installed]:
    for path in layout.gguf_files(models_dir()):
        yield Installed(str(path), path, path.stat().st_size, None, None)


def _hub_file(reference: str, repo: str, revision: str | None, file: str) -> GGUF:
    for gguf in catalog.FILES.values():
        if (gguf.repo, gguf.file) == (repo, file) and revision in (None, gguf.revision):
            return gguf
    if labels.is_label(file):
        return _by_label(reference, repo, revision, file)
    parts = file.split("/")
    if not file.lower().endswith(".gguf") or "\\" in file or {"", ".", ".."} & set(parts):
        raise UsageError(
            f"{reference} names no GGUF file of a repository; write repo:file.gguf or repo:Q4_K_M."
        )
    return GGUF(reference, repo, file, revision, 0, None, "")


def _by_label(reference: str, repo: str, revision: str | None, label: str) -> GGUF:
    """Return the file that the cache has of a quantisation; else the wish, for a pull to fulfil."""
    here = [file for name, file, _ in layout.scan() if name == repo]
    try:
        file = labels.choose(repo, dict.fromkeys(here), label)
    except ModelMissing:
        return GGUF(reference, repo, label, revision, 0, None, "")
    return _hub_file(reference, repo, revision, file)


def _of_ollama(reference: str) -> Path:
    if path := ollama.find(reference.removeprefix(ollama.PREFIX)):
        return path
    name = reference.removeprefix(ollama.PREFIX)
    raise ModelMissing(f"Ollama has no model {name!r} on this machine. {_guess(name)}")


def _unknown(reference: str) -> ModelMissing:
    guess = _guess(reference)
    if catalog.expand(reference):
        guess = "That is a pair; name its target or its draft."
    return ModelMissing(f"No model is called {reference!r}. {guess}")


def _guess(reference: str) -> str:
    """Say what may have been meant, first of what is on this machine."""
    from models.files.similar_names import alike  # it asks every store, and they ask this module

    meant = None if reference.startswith(("/", ".", "~")) else alike(reference)
    meant = meant or catalog.similar(reference)
    return f"Did you mean {meant}?" if meant else "See what is here: specchat models list"
