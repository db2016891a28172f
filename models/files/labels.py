"""Quantisations as they stand in the names of files: `model-Q4_K_M.gguf`."""

import re
from collections.abc import Iterable

from models.errors import ModelMissing
from models.files import layout

_KINDS = r"(?:bf16|f16|f32|(?:iq|q|tq)\d(?:_[a-z0-9]+)*|[mn]xfp4|nvfp4)"
_LABEL = re.compile(_KINDS, re.IGNORECASE)
_NAMED = re.compile(rf"(?:.*[-._/])?({_KINDS})\.gguf", re.IGNORECASE)


def is_label(text: str) -> bool:
    """Whether a text names a quantisation, as `f16`, `q8_0` and `q4` do."""
    return _LABEL.fullmatch(text) is not None


def labelled(files: Iterable[str]) -> dict[str, str]:
    """Return the quantisation of each file that holds a whole model and names one."""
    named = {file: match[1].upper() for file in files if (match := _NAMED.fullmatch(file))}
    return {file: kind for file, kind in named.items() if layout.is_model(file.split("/")[-1])}


def choose(repo: str, files: Iterable[str], label: str) -> str:
    """Return the file of a repository that has a quantisation; split ones are not considered.

    Raises:
        ModelMissing: there is none, or more than one; the text says what there is.
    """
    models = labelled(files)
    fitting = [file for file, kind in models.items() if kind == label.upper()]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ModelMissing(f"{repo} has {len(fitting)} files of {label}; name one: {fitting[0]}, …")
    kinds = ", ".join(sorted(set(models.values()))) or "no file that says which it is"
    raise ModelMissing(f"{repo} has no whole file of {label}. It has: {kinds}.")
