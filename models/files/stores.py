"""The model files of this and other programs on this machine."""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from models import catalog
from models.catalog import GGUF
from models.files import layout
from models.files.gguf_files import gguf_files, is_helper, is_new, tree
from models.files.model_file import ModelFile
from models.files.places import models_dir

_JAN_PATH = re.compile(r"^model_path:[ \t]*['\"]?([^'\"\r\n]+)", re.MULTILINE)
_MAX_CONFIG_BYTES = 1 << 20
OLLAMA = "ollama:"
_OLLAMA_MODEL = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256[:-]([0-9a-f]{64})")
_DEFAULT_TAG = "latest"


def stored(folders: Iterable[Path] = ()) -> Iterator[ModelFile]:
    """Yield the models of every program, and those in `folders`; one may come more than once."""
    yield from _ours()
    yield from _in("llama.cpp", _llama_cpp())
    for name, path in _ollama():
        yield ModelFile(path, name, f"{OLLAMA}{name}", "Ollama")
    yield from _in("LM Studio", _lm_studio())
    yield from _jan()
    yield from _in("GPT4All", _shared("nomic.ai/GPT4All"))
    yield from _in("folder", folders)


def discover(folders: Iterable[Path] = ()) -> Iterator[ModelFile]:
    """Yield the models of every program on this machine and those in `folders`, as they are read.

    The same bytes are yielded once, under the first name: the catalogue's, then the hub's. Files
    that only belong to another model are left out.
    """
    for model in _once(stored(folders)):
        with suppress(OSError):  # deleted meanwhile
            _ = model.size  # read here, with the header, in the caller's thread
            if not model.is_helper:
                yield model


def installed() -> list[ModelFile]:
    """Return the models specchat finds by itself, each once, without parts of split ones."""
    whole = (model for model in _once(_ours()) if model.is_whole)
    return [model for model in whole if not is_helper(model.path.name)]


def _once(models: Iterable[ModelFile]) -> Iterator[ModelFile]:
    seen: set[tuple[int, int]] = set()
    for model in models:
        if is_new(model.path, seen):
            yield model


def find(gguf: GGUF) -> Path | None:
    """Return where a file of the catalogue or of a repository is, if this machine has it."""
    path = models_dir() / gguf.file
    if os.path.isfile(path) and (gguf.sha256 is None or path.stat().st_size == gguf.size):
        return path
    return layout.cached(gguf)


def _ours() -> Iterator[ModelFile]:
    """Yield the models of the catalogue, then all in the hub's cache and in our own folder."""
    for gguf in catalog.FILES.values():
        if path := find(gguf):
            store = "Hugging Face" if gguf.repo else "specchat"
            yield ModelFile(path, gguf.name, gguf.name, store, gguf)
    for repo, file, path in layout.scan():
        yield ModelFile(path, f"{repo}:{file}", f"{repo}:{file}", "Hugging Face")
    yield from _in("specchat", [models_dir()])


def _in(store: str, folders: Iterable[Path]) -> Iterator[ModelFile]:
    for folder in folders:
        for path in gguf_files(folder):
            yield ModelFile(path, path.relative_to(folder).as_posix(), str(path), store)


def _llama_cpp() -> list[Path]:
    chosen = os.environ.get("LLAMA_CACHE")
    mac = [Path.home() / "Library/Caches/llama.cpp"] if sys.platform == "darwin" else []
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [*([Path(chosen)] if chosen else []), *mac, cache / "llama.cpp"]


def _ollama_folders() -> list[Path]:
    """Return where Ollama may keep models: its setting, the user's folder, the service's."""
    chosen = os.environ.get("OLLAMA_MODELS")
    folders = [Path(chosen).expanduser()] if chosen else []
    return [*folders, Path.home() / ".ollama/models", Path("/usr/share/ollama/.ollama/models")]


def _ollama() -> Iterator[tuple[str, Path]]:
    """Yield Ollama's name for each of its models, and the file."""
    for folder in _ollama_folders():
        manifests = folder / "manifests"
        for parent, names in tree(manifests):
            for name in names:
                if blob := _blob(folder, parent / name):
                    yield _ollama_name((parent / name).relative_to(manifests)), blob


def find_in_ollama(name: str) -> Path | None:
    """Return the file of a model by the name that Ollama has for it."""
    wanted = name if ":" in name else f"{name}:{_DEFAULT_TAG}"
    return next((path for known, path in _ollama() if known == wanted), None)


def _ollama_name(manifest: Path) -> str:
    """Return the name that `host/namespace/model/tag` has on Ollama's command line."""
    *path, tag = manifest.parts
    if path and path[0].startswith("registry."):  # Ollama's default, which is left out
        path = path[1:]
    if path and path[0] == "library":
        path = path[1:]
    return f"{'/'.join(path)}:{tag}"


def _blob(folder: Path, manifest: Path) -> Path | None:
    """Return the weights that a manifest names, if it is valid and they exist."""
    digest = _DIGEST.fullmatch(_digest(manifest))
    if digest is None:
        return None
    path = folder / "blobs" / f"sha256-{digest[1]}"
    return path if os.path.isfile(path) else None


def _digest(manifest: Path) -> str:
    try:
        layers = json.loads(_small_text(manifest))["layers"]
        return next(str(layer["digest"]) for layer in layers if layer["mediaType"] == _OLLAMA_MODEL)
    except (ValueError, KeyError, TypeError, RecursionError, StopIteration):
        return ""


def _lm_studio() -> list[Path]:
    home = Path.home()
    moved = _small_text(home / ".lmstudio-home-pointer").strip()
    homes = [Path(moved)] if os.path.isabs(moved) else []
    homes += [home / ".lmstudio", home / ".cache/lm-studio"]
    return [folder / "models" for folder in homes]


def _jan() -> Iterator[ModelFile]:
    """Yield Jan's models: each has a folder, and its path in `model.yml`."""
    for data in (*_shared("Jan/data"), Path.home() / "jan"):
        for models in (data / "llamacpp/models", data / "models"):
            yield from _named_in_configs(data, models)
            yield from _in("Jan", [models])


def _named_in_configs(data: Path, models: Path) -> Iterator[ModelFile]:
    for folder, names in tree(models):
        if "model.yml" in names and (match := _JAN_PATH.search(_small_text(folder / "model.yml"))):
            path = data / match[1].strip()
            name = folder.relative_to(models).as_posix()
            with suppress(ValueError):  # a null character in the path
                if os.path.isfile(path) and path.name.lower().endswith(".gguf"):
                    yield ModelFile(path, name, str(path), "Jan")


def _shared(folder: str) -> list[Path]:
    """Return where a desktop program keeps a folder of its data."""
    home = Path.home()
    mac = [home / "Library/Application Support" / folder] if sys.platform == "darwin" else []
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return [*mac, data / folder, config / folder]


def _small_text(path: Path) -> str:
    """Return the text of a small file; empty if there is none."""
    try:
        if path.is_file() and path.stat().st_size <= _MAX_CONFIG_BYTES:
            return path.read_text(errors="replace")
    except OSError:
        pass
    return ""
