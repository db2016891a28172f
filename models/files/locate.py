"""Find the file on this machine that a name means, or that holds a model in another quantisation.

Opens no connection.
"""

import os
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path

from models import catalog
from models.catalog import GGUF
from models.errors import ModelError, ModelMissing, UsageError, raising
from models.files import layout
from models.files.gguf_files import is_label, is_model, labelled_file, parts_of
from models.files.model_file import ModelFile, read_header
from models.files.places import expand_user, hub_cache, models_dir
from models.files.stores import OLLAMA, find_gguf, find_in_ollama, installed_models, stored_models
from models.gguf import Header

_HUB_FILE = re.compile(r"([\w.-]+/[\w.-]+)(?:@([\w.-]+))?:(.+)")
_PACKAGING = {"gguf", "awq", "gptq", "fp16"}  # words that makers add to the name of a model
_MIN_NAME = 3  # letters and digits: shorter ones are part of too many names


def resolve(reference: str) -> GGUF | Path:
    """Return the file of a repository or the catalogue that a reference names, or a path."""
    if gguf := catalog.find(reference):
        return gguf
    if os.path.exists(reference):
        return Path(reference)
    if match := _HUB_FILE.fullmatch(reference):
        return _hub_file(reference, *match.groups())
    if reference.startswith(OLLAMA):
        name = reference.removeprefix(OLLAMA)
        if path := find_in_ollama(name):
            return path
        raise ModelMissing(f"Ollama has no model {name!r} on this machine. {_guess(name)}")
    if os.sep in reference or reference.lower().endswith(".gguf"):
        return expand_user(reference)
    is_pair = catalog.expand(reference)
    guess = "That is a pair; name its target or its draft." if is_pair else _guess(reference)
    raise ModelMissing(f"No model is called {reference!r}. {guess}")


def identify(reference: str, candidates: Iterable[ModelFile] = ()) -> ModelFile:
    """Return the model that a reference names: a path, a name in the catalogue, or `repo:file`.

    It is one of the candidates, if it is the same file. A `ModelMissing` says that it is not on
    this machine, and how to fetch it.
    """
    wanted = resolve(reference)
    gguf, path = (wanted, find_gguf(wanted)) if isinstance(wanted, GGUF) else (None, wanted)
    if path is None:
        raise ModelMissing(
            f"{reference} is not on this machine. Fetch it with: specchat models pull {reference}"
        )
    with raising(ModelError, f"{path} cannot be read"):  # or its name is too long
        is_there = path.exists()
    if not is_there:
        raise ModelMissing(f"There is no file {path}. {_guess(reference)}")
    if not path.is_file():
        raise ModelError(f"{path} is not a file; give the path of a .gguf file.")
    first = next(iter(parts_of(path)), path)
    path = first if first.is_file() else path
    same = (model for model in candidates if model.path.resolve() == path.resolve())
    name = gguf.name if gguf else path.name
    return next(same, None) or ModelFile(path, name, reference, "file", gguf)


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
    return GGUF(reference, repo, file, revision)


def _by_label(reference: str, repo: str, revision: str | None, label: str) -> GGUF:
    """Return the cached file of a quantisation, or one to pull."""
    here = [file for name, file, _ in layout.scan() if name == repo]
    try:
        file = labelled_file(repo, dict.fromkeys(here), label)
    except ModelMissing:
        return GGUF(reference, repo, label, revision)
    return _hub_file(reference, repo, revision, file)


def _guess(reference: str) -> str:
    """Suggest a model with a similar name, first one on this machine."""
    here = _similar_reference(reference)
    names = [here] if here else get_close_matches(reference.lower(), catalog.FILES, n=1)
    return f"Did you mean {names[0]}?" if names else "See what is here: specchat models list"


def _similar_reference(name: str) -> str | None:
    """Return the reference of the model with the shortest name that contains this one, or None.

    Ollama's `llama3.2` has the reference `ollama:llama3.2:latest`.
    """
    wanted = _letters(name)
    if len(wanted) < _MIN_NAME or name.startswith(("/", ".", "~")):
        return None
    fitting = (model for model in stored_models() if wanted in _letters(model.name))
    nearest = min(fitting, key=lambda model: len(model.name), default=None)
    return nearest.reference if nearest else None


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().removesuffix(".gguf"))


def variant(target: Path, label: str) -> Path:
    """Return the file that holds the model in `target` in another quantisation, or `target` itself.

    `q4` stands for any of Q4_0, Q4_K_M and so on. A `ModelMissing` says where specchat looked.
    """
    wanted = read_header(target)
    if _is_quantised_as(wanted, label):
        return target
    for model in _others_like(target, label):
        header = model.header
        if header and _is_quantised_as(header, label) and _identity(header) == _identity(wanted):
            return model.path
    places = ", ".join(map(str, (target.parent, hub_cache(), models_dir())))
    raise ModelMissing(
        f"There is no {label.upper()} file of {wanted.name or target.name} in {places}. "
        f"Give the path of one instead of {label}."
    )


def _others_like(target: Path, label: str) -> Iterator[ModelFile]:
    """Yield the other models here, likely names first: reading a header takes time."""
    beside = sorted(path for path in target.parent.glob("*.gguf") if path.is_file())
    others = dict.fromkeys([*beside, *(model.path for model in installed_models())])
    paths = [path for path in others if path != target and is_model(path.name)]
    for path in sorted(paths, key=lambda path: label.lower() not in path.name.lower()):
        yield ModelFile(path, path.name, str(path), "file")


def _is_quantised_as(header: Header, label: str) -> bool:
    kind, wanted = (header.file_type or "").lower(), label.lower()
    return kind == wanted or kind.startswith(f"{wanted}_")


def _identity(header: Header) -> tuple[object, ...]:
    """Return an identity that all quantisations of a model share; without a name, only its own."""
    shape = header.layers, header.number("embedding_length"), header.n_vocab
    return header.architecture, *shape, _words(header.name) or header.path


def _words(name: str | None) -> tuple[str, ...]:
    words = re.split(r"[\s_-]+", (name or "").lower())
    return tuple(word for word in words if word and word not in _PACKAGING and not is_label(word))
