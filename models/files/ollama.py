"""Ollama's models: a manifest names the blobs of each, and one of those is a GGUF file."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from models.files.gguf_files import tree

PREFIX = "ollama:"
_MODEL = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256[:-]([0-9a-f]{64})")
_MAX_MANIFEST_BYTES = 1 << 20
_DEFAULT_TAG = "latest"


def folders() -> list[Path]:
    """Return where Ollama may keep models: where it is told to, the person's, the service's."""
    told = os.environ.get("OLLAMA_MODELS")
    places = [Path(told).expanduser()] if told else []
    return [*places, Path.home() / ".ollama/models", Path("/usr/share/ollama/.ollama/models")]


def scan() -> Iterator[tuple[str, Path]]:
    """Yield what Ollama calls each of its models, and the file that it is."""
    for folder in folders():
        manifests = folder / "manifests"
        for parent, names in tree(manifests):
            for name in names:
                if blob := _blob(folder, parent / name):
                    yield _name((parent / name).relative_to(manifests)), blob


def find(name: str) -> Path | None:
    """Return the file of a model by the name that Ollama has for it."""
    wanted = name if ":" in name else f"{name}:{_DEFAULT_TAG}"
    return next((path for known, path in scan() if known == wanted), None)


def _name(manifest: Path) -> str:
    """Return the name that `host/namespace/model/tag` has on Ollama's command line."""
    *path, tag = manifest.parts
    if path and path[0].startswith("registry."):  # Ollama's own, which nobody writes
        path = path[1:]
    if path and path[0] == "library":
        path = path[1:]
    return f"{'/'.join(path)}:{tag}"


def _blob(folder: Path, manifest: Path) -> Path | None:
    """Return the weights that a manifest names, if it is one and they are there."""
    digest = _DIGEST.fullmatch(_digest(manifest))
    if digest is None:
        return None
    path = folder / "blobs" / f"sha256-{digest[1]}"
    return path if os.path.isfile(path) else None


def _digest(manifest: Path) -> str:
    try:
        if not manifest.is_file() or manifest.stat().st_size > _MAX_MANIFEST_BYTES:
            return ""
        layers = json.loads(manifest.read_text())["layers"]
        return next(str(layer["digest"]) for layer in layers if layer["mediaType"] == _MODEL)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, StopIteration):
        return ""
