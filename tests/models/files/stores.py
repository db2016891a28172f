"""Models laid out as Ollama, LM Studio, Jan and GPT4All store them."""

import json
import os
from pathlib import Path

import gguf
import numpy as np

from models.files import places
from tests import tiny


def ollama_model(
    name: str, data: bytes, digest: str = "a" * 64, folder: Path | None = None
) -> Path:
    """Put a blob and the manifest that names it where Ollama does; return the blob."""
    folder = folder or Path.home() / ".ollama/models"
    blob = file(folder / "blobs" / f"sha256-{digest}", data)
    model = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}
    other = {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:" + "0" * 64}
    ollama_manifest(name, json.dumps({"layers": [other, model]}), folder)
    return blob


def ollama_manifest(name: str, text: str, folder: Path | None = None) -> None:
    """Write a manifest, whatever is in it."""
    file((folder or Path.home() / ".ollama/models") / "manifests" / name, text.encode())


def file(path: Path, data: bytes) -> Path:
    """Write a file and the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def odd(
    path: Path,
    architecture: str,
    kind: str | None = None,
    keys: tuple[str, ...] = (),
    tensors: tuple[str, ...] = (),
    *,
    tokens: bool = False,
) -> Path:
    """Write a file that holds no chat model, and return its path."""
    writer = gguf.GGUFWriter(path, architecture)
    if kind:
        writer.add_type(kind)
    for key in keys:
        writer.add_string(key, "lora")
    if tokens:
        tiny.write_vocabulary(writer)
    for name in tensors:
        writer.add_tensor(name, np.zeros((8, 8), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


OTHER = "0" * 40


def hub_file(repo, revision, name, data, blob):
    """Lay a file into the hub's cache as every program does."""
    folder = places.hub_cache() / f"models--{repo.replace('/', '--')}"
    file(folder / "blobs" / blob, data)
    link = folder / "snapshots" / revision / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(os.path.relpath(folder / "blobs" / blob, link.parent))
    return link
