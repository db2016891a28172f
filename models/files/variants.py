"""The same model in another quantisation, among the files on this machine."""

import re
from collections.abc import Iterator
from pathlib import Path

from models import gguf
from models.errors import ModelError, ModelMissing
from models.files.gguf_files import is_label, is_model
from models.files.places import hub_cache, models_dir
from models.files.stores import installed

_PACKAGING = {"gguf", "awq", "gptq", "fp16"}  # words that makers add to the name of a model


def variant(target: Path, label: str) -> Path:
    """Return the file that holds the model in `target` in another quantisation, or `target` itself.

    `q4` stands for any of Q4_0, Q4_K_M and so on.

    Raises:
        ModelMissing: there is no such file here; the text says where specchat looked, and what to
            do.
    """
    wanted = gguf.read(target)
    if _has(wanted, label):
        return target
    for path in _candidates(target, label):
        header = _header(path)
        if header and _has(header, label) and _identity(header) == _identity(wanted):
            return path
    places = ", ".join(map(str, (target.parent, hub_cache(), models_dir())))
    raise ModelMissing(
        f"There is no {label.upper()} file of {wanted.name or target.name} in {places}. "
        f"Give the path of one instead of {label}."
    )


def siblings(target: Path) -> list[Path]:
    """Return the other files on this machine that hold the model in `target`.

    Raises:
        ModelError: `target` itself cannot be read.
    """
    identity = _identity(gguf.read(target))
    found = {target.resolve(): target}
    for path in _candidates(target, ""):
        if (header := _header(path)) and _identity(header) == identity:
            found.setdefault(path.resolve(), path)
    return [path for path in found.values() if path != target]


def _candidates(target: Path, label: str) -> Iterator[Path]:
    """Yield the other models here, likely names first: reading a header takes time."""
    neighbours = sorted(path for path in target.parent.glob("*.gguf") if path.is_file())
    others = dict.fromkeys([*neighbours, *(model.path for model in installed())])
    paths = [path for path in others if path != target and is_model(path.name)]
    yield from sorted(paths, key=lambda path: label.lower() not in path.name.lower())


def _header(path: Path) -> gguf.Header | None:
    try:
        return gguf.read(path)
    except ModelError:
        return None


def _has(header: gguf.Header, label: str) -> bool:
    kind, wanted = (header.file_type or "").lower(), label.lower()
    return kind == wanted or kind.startswith(f"{wanted}_")


def _identity(header: gguf.Header) -> tuple[object, ...]:
    """Return what all quantisations of a model share; a nameless one is only like itself."""
    shape = header.layers, header.number("embedding_length"), header.n_vocab
    return header.architecture, *shape, _plain(header.name) or header.path


def _plain(name: str | None) -> tuple[str, ...]:
    words = re.split(r"[\s_-]+", (name or "").lower())
    return tuple(word for word in words if word and word not in _PACKAGING and not is_label(word))
