"""GGUF files in folders: which are models, complete or split, and how they are quantised."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from models.errors import ModelMissing

_MAX_DEPTH = 12
_MAX_FOLDERS = 20_000
_MAX_PARTS = 1000
_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf")
_HELPER = re.compile(
    r"(?:.*[-_.])?mmproj[-_.].*|(?:mtp|imatrix|lora|eagle\d*|dflash)[-_.].*|.*[-_.]imatrix\.gguf",
    re.IGNORECASE,
)
_KINDS = r"(?:bf16|f16|f32|(?:iq|q|tq)\d(?:_[a-z0-9]+)*|[mn]xfp4|nvfp4)"
_LABEL = re.compile(_KINDS, re.IGNORECASE)
_NAMED = re.compile(rf"(?:.*[-._/])?({_KINDS})\.gguf", re.IGNORECASE)


def gguf_files(folder: Path) -> Iterator[Path]:
    """Yield the GGUF files below a folder, sorted; of a split model, the first part."""
    for parent, names in tree(folder):
        firsts: dict[str, str] = {}  # the first part here of each split model
        for name in names:
            part = _PART.fullmatch(name)
            firsts.setdefault(f"{part[1]}-of-{part[3]}" if part else name, name)
        for name in filter(_is_gguf, firsts.values()):
            if os.path.isfile(parent / name):
                yield parent / name


def is_model(name: str) -> bool:
    """Whether a file's name is that of a language model, or of the first part of a split one."""
    part = _PART.fullmatch(name)
    return _is_gguf(name) and not is_helper(name) and (part is None or part[2] == "00001")


def is_helper(name: str) -> bool:
    """Whether a file's name is that of a part of another model; its header decides."""
    return _HELPER.fullmatch(name) is not None


def _is_gguf(name: str) -> bool:
    return name.lower().endswith(".gguf") and not name.startswith(".")


def parts_of(path: Path) -> list[Path]:
    """Return the files of a split model; none if it is not split."""
    part = _PART.fullmatch(path.name)
    if part is None:
        return []
    count = min(int(part[3]), _MAX_PARTS)
    return [path.with_name(f"{part[1]}-{n:05d}-of-{part[3]}.gguf") for n in range(1, count + 1)]


def is_label(text: str) -> bool:
    """Whether a text names a quantisation, such as `f16`, `q8_0` or `q4`."""
    return _LABEL.fullmatch(text) is not None


def labelled_file(repo: str, files: Iterable[str], label: str) -> str:
    """Return the file of a repository with a quantisation, by its label; split files do not count.

    A `ModelMissing` says that there is none, or more than one, and lists what there is.
    """
    named = {file: match[1].upper() for file in files if (match := _NAMED.fullmatch(file))}
    models = {file: kind for file, kind in named.items() if is_model(file.split("/")[-1])}
    fitting = [file for file, kind in models.items() if kind == label.upper()]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ModelMissing(f"{repo} has {len(fitting)} files of {label}; name one: {fitting[0]}, …")
    kinds = ", ".join(sorted(set(models.values()))) or "no file with a quantisation in its name"
    raise ModelMissing(f"{repo} has no complete file for {label}. It has: {kinds}.")


def tree(top: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield each folder and the names of its files, in order.

    Links are followed, but no folder is entered twice; hidden and unreadable ones are skipped.
    """
    seen: set[tuple[int, int]] = set()
    with suppress(ValueError):  # a null character in the name
        for path, folders, names in os.walk(top, followlinks=True):
            folder = Path(path)
            if len(seen) == _MAX_FOLDERS or not is_new(folder, seen):
                folders.clear()
                continue
            is_deep = len(folder.parts) - len(top.parts) >= _MAX_DEPTH
            folders[:] = [] if is_deep else _visible(folders)
            yield folder, _visible(names)


def _visible(names: list[str]) -> list[str]:
    return sorted(name for name in names if not name.startswith("."))


def is_new(path: Path, seen: set[tuple[int, int]]) -> bool:
    """Return whether a path exists and is not in `seen`, by device and inode; add it there."""
    try:
        status = path.stat()
    except OSError:
        return False
    identity = status.st_dev, status.st_ino
    if identity in seen:
        return False
    seen.add(identity)
    return True
