"""Find the file on this machine that a name means. Opens no connection."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from models import catalog
from models.catalog import GGUF
from models.errors import ModelError, ModelMissing, UsageError
from models.files import layout
from models.files.gguf_files import choose, is_label
from models.files.model_file import ModelFile
from models.files.stores import OLLAMA, find, find_in_ollama, stored

_HUB_FILE = re.compile(r"([\w.-]+/[\w.-]+)(?:@([\w.-]+))?:(.+)")
_MIN_NAME = 3  # letters and digits: shorter ones are part of too many names


def resolve(reference: str) -> GGUF | Path:
    """Return what a reference means: a file of a repository or the catalogue, or a path."""
    if gguf := catalog.find(reference):
        return gguf
    if os.path.exists(reference):
        return Path(reference)
    if match := _HUB_FILE.fullmatch(reference):
        return _hub_file(reference, *match.groups())
    if reference.startswith(OLLAMA):
        return _of_ollama(reference)
    if os.sep in reference or reference.lower().endswith(".gguf"):
        return Path(reference).expanduser()
    raise _unknown(reference)


def locate(reference: str) -> Path:
    """Return where a model is: given by a path, by its name in the catalogue, or by `repo:file`.

    Raises:
        ModelMissing: it is not on this machine; the text says how to fetch it.
        ModelError: the path is not a file.
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


def identify(reference: str, candidates: Iterable[ModelFile] = ()) -> ModelFile:
    """Return the model a reference names: one of the candidates, or any other file.

    Raises:
        ModelMissing: it is not on this machine.
        ModelError: it is not a file.
    """
    path = locate(reference)
    real = path.resolve()
    for candidate in candidates:
        if candidate.path.resolve() == real:
            return candidate
    known = resolve(reference)
    gguf = known if isinstance(known, GGUF) else None
    return ModelFile(path, gguf.name if gguf else path.name, reference, "file", gguf)


def _hub_file(reference: str, repo: str, revision: str | None, file: str) -> GGUF:
    for gguf in catalog.FILES.values():
        if (gguf.repo, gguf.file) == (repo, file) and revision in (None, gguf.revision):
            return gguf
    if is_label(file):
        return _by_label(reference, repo, revision, file)
    parts = file.split("/")
    if not file.lower().endswith(".gguf") or "\\" in file or {"", ".", ".."} & set(parts):
        raise UsageError(
            f"{reference} names no GGUF file of a repository; write repo:file.gguf or repo:Q4_K_M."
        )
    return GGUF(reference, repo, file, revision, 0, None, "")


def _by_label(reference: str, repo: str, revision: str | None, label: str) -> GGUF:
    """Return the cached file of a quantisation, or what to pull."""
    here = [file for name, file, _ in layout.scan() if name == repo]
    try:
        file = choose(repo, dict.fromkeys(here), label)
    except ModelMissing:
        return GGUF(reference, repo, label, revision, 0, None, "")
    return _hub_file(reference, repo, revision, file)


def _of_ollama(reference: str) -> Path:
    name = reference.removeprefix(OLLAMA)
    if path := find_in_ollama(name):
        return path
    raise ModelMissing(f"Ollama has no model {name!r} on this machine. {_guess(name)}")


def _unknown(reference: str) -> ModelMissing:
    guess = _guess(reference)
    if catalog.expand(reference):
        guess = "That is a pair; name its target or its draft."
    return ModelMissing(f"No model is called {reference!r}. {guess}")


def _guess(reference: str) -> str:
    """Suggest what was meant, first from this machine."""
    meant = None if reference.startswith(("/", ".", "~")) else _alike(reference)
    meant = meant or catalog.similar(reference)
    return f"Did you mean {meant}?" if meant else "See what is here: specchat models list"


def _alike(name: str) -> str | None:
    """Return the reference of the model with the shortest name that contains this one, or None.

    Ollama's `llama3.2` is `ollama:llama3.2:latest` on the command line, LM Studio's and Jan's
    models go by the paths of their files.
    """
    wanted = _plain(name)
    if len(wanted) < _MIN_NAME:
        return None
    fitting = [model for model in stored() if wanted in _plain(model.name)]
    nearest = min(fitting, key=lambda model: len(model.name), default=None)
    return nearest.reference if nearest else None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().removesuffix(".gguf"))
