"""The layout of the Hugging Face cache on disk, so that files are found in place and shared.

`models--ORG--NAME/blobs/SHA256` holds the bytes, `snapshots/COMMIT/FILE` points there, `refs/main`
names the commit of the main branch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from models.files.gguf_files import gguf_files
from models.files.places import hub_cache

if TYPE_CHECKING:  # the worker knows no catalogue
    from models.catalog import GGUF

_SHA256 = re.compile(r"[0-9a-f]{64}")


def storage(repo: str) -> Path:
    """Return the folder of a repository."""
    return hub_cache() / f"models--{repo.replace('/', '--')}"


def named_sha256(path: Path) -> str | None:
    """Return the sha256 that the cache's own name for a file promises, if it does."""
    name = path.resolve().name
    return name if _SHA256.fullmatch(name) and path.resolve().parent.name == "blobs" else None


def cached_path(gguf: GGUF) -> Path | None:
    """Return where a file of a repository is, if the cache has it."""
    for snapshot in _snapshots(storage(gguf.repo), gguf.revision) if gguf.repo else ():
        path = snapshot / gguf.file
        if os.path.isfile(path) and _matches(path, gguf, snapshot.name):
            return path
    return None


def _matches(path: Path, gguf: GGUF, revision: str) -> bool:
    """Whether a cached file is the wanted one: revisions may hold other bytes under one name."""
    if gguf.sha256 is None:
        return gguf.revision in (None, revision)
    promised = named_sha256(path)
    if promised is None and revision != gguf.revision:
        return False
    return promised in (None, gguf.sha256) and path.stat().st_size == gguf.size


def _snapshots(folder: Path, revision: str | None) -> Iterator[Path]:
    """Yield the snapshots of a repository: the wanted one, the main branch's, then the others."""
    first = [name for name in (revision, main_commit(folder)) if name]
    yield from (folder / "snapshots" / name for name in first)
    yield from (entry for entry in _entries(folder / "snapshots") if entry.name not in first)


def main_commit(folder: Path) -> str | None:
    """Return the commit that the cache holds for a repository's main branch."""
    with suppress(OSError, ValueError):
        commit = (folder / "refs" / "main").read_text().strip()
        return commit if re.fullmatch(r"[0-9A-Za-z]+", commit) else None
    return None


def scan() -> Iterator[tuple[str, str, Path]]:
    """Yield the repository, the name and the path of every GGUF in the cache, whole or not."""
    for folder in _entries(hub_cache()):
        if folder.name.startswith("models--"):
            repo = folder.name.removeprefix("models--").replace("--", "/")
            for snapshot in _snapshots(folder, None):
                for path in gguf_files(snapshot):
                    yield repo, path.relative_to(snapshot).as_posix(), path


def _entries(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(folder.iterdir())
    return []


def link(repo: str, revision: str, file: str, blob: Path) -> Path:
    """Link a blob into a snapshot and return its path there."""
    path = storage(repo) / "snapshots" / revision / file
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.symlink_to(os.path.relpath(blob, path.parent))
    except OSError:  # a file system without links
        blob.replace(path)
    else:
        fresh.replace(path)
    return path


def name_main_commit(repo: str, revision: str) -> None:
    """Record the commit of the main branch, unless it is recorded already."""
    ref = storage(repo) / "refs" / "main"
    ref.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError), ref.open("x") as file:
        file.write(revision)
