"""Where this and other programs keep model files, and what is in there. Nothing is ever changed."""

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from models import catalog
from models.catalog import GGUF
from models.files import layout, ollama
from models.files.gguf_files import gguf_files, is_whole, tree
from models.files.places import models_dir

_JAN_PATH = re.compile(r"^model_path:[ \t]*['\"]?([^'\"\r\n]+)", re.MULTILINE)
_MAX_NOTE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Stored:
    """A file that some program keeps as a model, by what it calls it."""

    path: Path
    name: str
    reference: str  # what to call it on the command line
    store: str
    gguf: GGUF | None = None  # its entry in the catalogue


def stored(folders: Iterable[Path] = ()) -> Iterator[Stored]:
    """Yield the models of every program, and those in `folders`; one may come more than once."""
    yield from _ours()
    yield from _in("llama.cpp", _llama_cpp())
    for name, path in ollama.scan():
        yield Stored(path, name, f"{ollama.PREFIX}{name}", "Ollama")
    yield from _in("LM Studio", _lm_studio())
    yield from _jan()
    yield from _in("GPT4All", _shared("nomic.ai/GPT4All"))
    yield from _in("folder", folders)


def installed() -> list[Stored]:
    """Return what specchat finds by itself, each model once; parts of one are not among them."""
    found: dict[Path, Stored] = {}
    for model in _ours():
        if is_whole(model.path):
            found.setdefault(model.path.resolve(), model)
    return list(found.values())


def find(gguf: GGUF) -> Path | None:
    """Return where a file of the catalogue or of a repository is, if this machine has it."""
    path = models_dir() / gguf.file
    if os.path.isfile(path) and (gguf.sha256 is None or path.stat().st_size == gguf.size):
        return path
    return layout.cached(gguf)


def _ours() -> Iterator[Stored]:
    """Yield the models of the catalogue, then all in the hub's cache and in our own folder."""
    for gguf in catalog.FILES.values():
        if path := find(gguf):
            store = "Hugging Face" if gguf.repo else "specchat"
            yield Stored(path, gguf.name, gguf.name, store, gguf)
    for repo, file, path in layout.scan():
        yield Stored(path, f"{repo}:{file}", f"{repo}:{file}", "Hugging Face")
    yield from _in("specchat", [models_dir()])


def _in(store: str, folders: Iterable[Path]) -> Iterator[Stored]:
    for folder in folders:
        for path in gguf_files(folder):
            yield Stored(path, path.relative_to(folder).as_posix(), str(path), store)


def _llama_cpp() -> list[Path]:
    told = os.environ.get("LLAMA_CACHE")
    mac = [Path.home() / "Library/Caches/llama.cpp"] if sys.platform == "darwin" else []
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [*([Path(told)] if told else []), *mac, cache / "llama.cpp"]


def _lm_studio() -> list[Path]:
    home = Path.home()
    moved = _note(home / ".lmstudio-home-pointer").strip()
    homes = [Path(moved)] if os.path.isabs(moved) else []
    homes += [home / ".lmstudio", home / ".cache/lm-studio"]
    return [place / "models" for place in homes]


def _jan() -> Iterator[Stored]:
    """Yield Jan's models: a folder each, with the file's place in `model.yml`."""
    for data in (*_shared("Jan/data"), Path.home() / "jan"):
        for models in (data / "llamacpp/models", data / "models"):
            yield from _named_in_notes(data, models)
            yield from _in("Jan", [models])


def _named_in_notes(data: Path, models: Path) -> Iterator[Stored]:
    for folder, names in tree(models):
        if "model.yml" in names and (told := _JAN_PATH.search(_note(folder / "model.yml"))):
            path = data / told[1].strip()
            name = folder.relative_to(models).as_posix()
            with suppress(ValueError):  # a null character in what the note says
                if os.path.isfile(path) and path.name.lower().endswith(".gguf"):
                    yield Stored(path, name, str(path), "Jan")


def _shared(folder: str) -> list[Path]:
    """Return where a desktop program keeps a folder of its data."""
    home = Path.home()
    mac = [home / "Library/Application Support" / folder] if sys.platform == "darwin" else []
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return [*mac, data / folder, config / folder]


def _note(path: Path) -> str:
    """Return the text of a small file; nothing when there is none."""
    try:
        if path.is_file() and path.stat().st_size <= _MAX_NOTE_BYTES:
            return path.read_text(errors="replace")
    except OSError:
        pass
    return ""
