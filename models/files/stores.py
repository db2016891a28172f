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
from models.files.model_file import ModelFile, missing_parts
from models.files.places import models_dir, user_folder

_JAN_PATH = re.compile(r"^model_path:[ \t]*['\"]?([^'\"\r\n]+)", re.MULTILINE)
_MAX_CONFIG_BYTES = 1 << 20
OLLAMA = "ollama:"
_OLLAMA_MODEL = "application/vnd.ollama.image.model"
_OLLAMA_DEFAULTS = re.compile(r"^(registry\.[^/]*/)?(library/)?")  # which its names leave out
_DIGEST = re.compile(r"sha256[:-]([0-9a-f]{64})")


def stored_models(folders: Iterable[Path] = ()) -> Iterator[ModelFile]:
    """Yield the models of every program, and those in `folders`; one may come more than once."""
    yield from _ours()
    yield from _models_in("llama.cpp", _llama_cpp())
    for name, path in _ollama():
        yield ModelFile(path, name, f"{OLLAMA}{name}", "Ollama")
    yield from _models_in("LM Studio", _lm_studio())
    yield from _jan()
    yield from _models_in("GPT4All", _desktop_folders("nomic.ai/GPT4All"))
    yield from _models_in("folder", folders)


def discover(folders: Iterable[Path] = ()) -> Iterator[ModelFile]:
    """Yield the models of every program on this machine and those in `folders`, as they are read.

    The same bytes are yielded once, under the first name: the catalogue's, then the hub's. Files
    that only belong to another model are left out.
    """
    for model in _unique(stored_models(folders)):
        with suppress(OSError):  # deleted meanwhile
            _ = model.size  # read here, with the header, in the caller's thread
            if not model.is_helper:
                yield model


def installed_models() -> list[ModelFile]:
    """Return the models specchat finds by itself, each once, without parts of split ones."""
    whole = (model for model in _unique(_ours()) if missing_parts(model.path) is None)
    return [model for model in whole if not is_helper(model.path.name)]


def _unique(models: Iterable[ModelFile]) -> Iterator[ModelFile]:
    seen: set[tuple[int, int]] = set()
    for model in models:
        if is_new(model.path, seen):
            yield model


def find_gguf(gguf: GGUF) -> Path | None:
    """Return where a file of the catalogue or of a repository is, if this machine has it."""
    path = models_dir() / gguf.file
    if os.path.isfile(path) and (gguf.sha256 is None or path.stat().st_size == gguf.size):
        return path
    return layout.cached_path(gguf)


def _ours() -> Iterator[ModelFile]:
    """Yield the models of the catalogue, then all in the hub's cache and in our own folder."""
    for gguf in catalog.FILES.values():
        if path := find_gguf(gguf):
            store = "Hugging Face" if gguf.repo else "specchat"
            yield ModelFile(path, gguf.name, gguf.name, store, gguf)
    for repo, file, path in layout.scan():
        yield ModelFile(path, f"{repo}:{file}", f"{repo}:{file}", "Hugging Face")
    yield from _models_in("specchat", [models_dir()])


def _models_in(store: str, folders: Iterable[Path]) -> Iterator[ModelFile]:
    for folder in folders:
        for path in gguf_files(folder):
            yield ModelFile(path, path.relative_to(folder).as_posix(), str(path), store)


def _llama_cpp() -> list[Path]:
    usual = user_folder("XDG_CACHE_HOME", ".cache") / "llama.cpp"
    mac = [Path.home() / "Library/Caches/llama.cpp"] if sys.platform == "darwin" else []
    return [*dict.fromkeys((user_folder("LLAMA_CACHE", str(usual)), *mac, usual))]


def _ollama() -> Iterator[tuple[str, Path]]:
    """Yield Ollama's name for each of its models, and the file.

    What is `host/namespace/model/tag` among its manifests, it calls `namespace/model:tag`.
    """
    usual, of_service = Path.home() / ".ollama/models", Path("/usr/share/ollama/.ollama/models")
    chosen = user_folder("OLLAMA_MODELS", ".ollama/models")
    for folder in dict.fromkeys((chosen, usual, of_service)):
        manifests = folder / "manifests"
        for parent, names in tree(manifests):
            for name in names:
                if blob := _blob(folder, parent / name):
                    model = _OLLAMA_DEFAULTS.sub("", parent.relative_to(manifests).as_posix())
                    yield f"{model}:{name}", blob


def find_in_ollama(name: str) -> Path | None:
    """Return the file of a model by the name that Ollama has for it."""
    wanted = name if ":" in name else f"{name}:latest"
    return next((path for known, path in _ollama() if known == wanted), None)


def _blob(folder: Path, manifest: Path) -> Path | None:
    """Return the weights that a manifest names, if it is valid and they exist."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        layers = json.loads(_small_text(manifest))["layers"]
        digests = (layer["digest"] for layer in layers if layer["mediaType"] == _OLLAMA_MODEL)
        if digest := _DIGEST.fullmatch(next(digests, "")):
            path = folder / "blobs" / f"sha256-{digest[1]}"
            return path if os.path.isfile(path) else None
    return None


def _lm_studio() -> list[Path]:
    home = Path.home()
    moved = _small_text(home / ".lmstudio-home-pointer").strip()
    homes = [Path(moved)] if os.path.isabs(moved) else []
    homes += [home / ".lmstudio", home / ".cache/lm-studio"]
    return [folder / "models" for folder in homes]


def _jan() -> Iterator[ModelFile]:
    """Yield Jan's models: each has a folder, and its path in `model.yml`."""
    for data in (*_desktop_folders("Jan/data"), Path.home() / "jan"):
        for models in (data / "llamacpp/models", data / "models"):
            yield from _named_in_configs(data, models)
            yield from _models_in("Jan", [models])


def _named_in_configs(data: Path, models: Path) -> Iterator[ModelFile]:
    for folder, names in tree(models):
        if "model.yml" in names and (match := _JAN_PATH.search(_small_text(folder / "model.yml"))):
            path = data / match[1].strip()
            name = folder.relative_to(models).as_posix()
            with suppress(ValueError):  # a null character in the path
                if os.path.isfile(path) and path.name.lower().endswith(".gguf"):
                    yield ModelFile(path, name, str(path), "Jan")


def _desktop_folders(folder: str) -> list[Path]:
    """Return where a desktop program keeps a folder of its data."""
    mac = [Path.home() / "Library/Application Support"] if sys.platform == "darwin" else []
    data = user_folder("XDG_DATA_HOME", ".local/share")
    config = user_folder("XDG_CONFIG_HOME", ".config")
    return [parent / folder for parent in (*mac, data, config)]


def _small_text(path: Path) -> str:
    """Return the text of a small file; empty if there is none."""
    with suppress(OSError):
        if path.is_file() and path.stat().st_size <= _MAX_CONFIG_BYTES:
            return path.read_text(errors="replace")
    return ""
