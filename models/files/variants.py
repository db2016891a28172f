"""The same model in another quantisation, among the files on this machine."""

import re
from collections.abc import Iterator
from pathlib import Path

from models.errors import ModelMissing
from models.files.gguf_files import is_label, is_model
from models.files.model_file import ModelFile, read_header
from models.files.places import hub_cache, models_dir
from models.files.stores import installed
from models.gguf import Header

_PACKAGING = {"gguf", "awq", "gptq", "fp16"}  # words that makers add to the name of a model


def variant(target: Path, label: str) -> Path:
    """Return the file that holds the model in `target` in another quantisation, or `target` itself.

    `q4` stands for any of Q4_0, Q4_K_M and so on.

    Raises:
        ModelMissing: there is no such file here; the text says where specchat looked, and what to
            do.
    """
    wanted = read_header(target)
    if _has(wanted, label):
        return target
    for model in _candidates(target, label):
        header = model.header
        if header and _has(header, label) and _identity(header) == _identity(wanted):
            return model.path
    places = ", ".join(map(str, (target.parent, hub_cache(), models_dir())))
    raise ModelMissing(
        f"There is no {label.upper()} file of {wanted.name or target.name} in {places}. "
        f"Give the path of one instead of {label}."
    )


def _candidates(target: Path, label: str) -> Iterator[ModelFile]:
    """Yield the other models here, likely names first: reading a header takes time."""
    beside = sorted(path for path in target.parent.glob("*.gguf") if path.is_file())
    others = dict.fromkeys([*beside, *(model.path for model in installed())])
    paths = [path for path in others if path != target and is_model(path.name)]
    for path in sorted(paths, key=lambda path: label.lower() not in path.name.lower()):
        yield ModelFile(path, path.name, str(path), "file")


def _has(header: Header, label: str) -> bool:
    kind, wanted = (header.file_type or "").lower(), label.lower()
    return kind == wanted or kind.startswith(f"{wanted}_")


def _identity(header: Header) -> tuple[object, ...]:
    """Return what all quantisations of a model share; a nameless one is only like itself."""
    shape = header.layers, header.number("embedding_length"), header.n_vocab
    return header.architecture, *shape, _plain(header.name) or header.path


def _plain(name: str | None) -> tuple[str, ...]:
    words = re.split(r"[\s_-]+", (name or "").lower())
    return tuple(word for word in words if word and word not in _PACKAGING and not is_label(word))
