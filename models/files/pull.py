"""Download a model file, complete and verified, from the hub or the package index.

Importing this costs the time of importing huggingface_hub; `models.files.locate` does not.
"""

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from filelock import FileLock

from models import catalog
from models.catalog import GGUF
from models.errors import ModelError, NetworkError, StorageError, UsageError
from models.files import checksum, hub, layout, mirror
from models.files.checksum import verified_path
from models.files.disk import download_error_text, private_folder, require_space
from models.files.gguf_files import is_label, labelled_file, parts_of
from models.files.locate import identify, resolve
from models.files.model_file import whole_header
from models.files.places import hub_cache, models_dir
from models.files.stores import find_gguf
from models.progress import Progress, Report, silent

PART = ".specchat-part"  # suffix of a partial download's name; no model's name has it
_STALE_S = 7 * 24 * 3600
_POLL_S = 0.2
_TRUE = {"1", "ON", "YES", "TRUE"}
Fetch = Callable[[GGUF, Path, Report], None]  # downloads the rest of a partial file


def pull(reference: str, *, offline: bool = False, progress: Report = silent) -> Path:
    """Return where a model is, after fetching it if this machine lacks it.

    A download that fails, or is stopped by `progress` or killed, is resumed by the next call.
    """
    wanted = resolve(reference)
    here = Progress(0, 0, "", f"{reference} is on this machine; nothing was fetched.")
    if isinstance(wanted, Path):
        path = whole_header(identify(reference).path).path
        progress(here)
        return path
    if find_gguf(wanted):
        try:
            path = verified_path(reference, progress)
            progress(here)
            return path
        except ModelError as error:
            progress(Progress(0, wanted.size, "", f"{error} Fetching it now."))
    if offline or os.environ.get("HF_HUB_OFFLINE", "").upper() in _TRUE:
        raise NetworkError(
            f"{reference} is not on this machine, and fetching is forbidden by --offline, "
            "HF_HUB_OFFLINE, SPECCHAT_OFFLINE or offline in config.toml (specchat config show)."
        )
    if parts_of(Path(wanted.file)):
        raise UsageError(f"{reference} is one part of a split model; choose a model in one file.")
    on_hub = _on_hub(wanted, progress)
    gguf, fetch = (on_hub, hub.fetch) if on_hub else (wanted, mirror.fetch)
    path = _fetch(gguf, fetch, progress)
    if gguf.repo and gguf.revision and (wanted.revision is None or catalog.find(gguf.name)):
        layout.name_main_commit(gguf.repo, gguf.revision)
    return path


def _on_hub(wanted: GGUF, report: Report) -> GGUF | None:
    """Return the hub's description of a file; None to use the package index instead."""
    if wanted.repo is None:
        return None
    report(Progress(0, wanted.size, "asking the hub"))
    try:
        files = hub.describe(wanted.repo, wanted.revision)
    except NetworkError as error:
        if wanted.mirror is None:
            raise
        report(Progress(0, wanted.size, "", f"{error} Fetching from the package index instead."))
        return None
    name = labelled_file(wanted.repo, files, wanted.file) if is_label(wanted.file) else wanted.file
    if name not in files:
        revision = wanted.revision or "main"
        raise NetworkError(f"The hub has no {name} in {wanted.repo} (revision {revision}).")
    gguf = replace(files[name], name=wanted.name)
    if not (gguf.size and gguf.sha256):
        raise NetworkError(f"The hub gives no size or checksum for {name}, so it is not fetched.")
    if wanted.sha256 not in (None, gguf.sha256):
        raise NetworkError(f"{name} on the hub is not the file the catalogue lists.")
    return gguf


def _fetch(gguf: GGUF, fetch: Fetch, report: Report) -> Path:
    def wait() -> bool:
        report(Progress(0, 0, "waiting for another program to download it"))
        return False

    if gguf.repo is None:
        path, lock = models_dir() / gguf.file, models_dir() / ".locks" / f"{gguf.file}.lock"
    else:  # the lock of all programs that use the cache
        folder, name = layout.storage(gguf.repo), str(gguf.sha256)
        path, lock = folder / "blobs" / name, hub_cache() / ".locks" / folder.name / f"{name}.lock"
    try:
        if gguf.repo is None:
            private_folder(path.parent)
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock).acquire(poll_interval=_POLL_S, cancel_check=wait):
            is_whole = path.is_file() and path.stat().st_size == gguf.size
            if not (is_whole and checksum.sha256_once(path) == gguf.sha256):
                _transfer(gguf, path, fetch, report)  # no other program has just done so
            if gguf.repo is None or gguf.revision is None:
                return path
            return layout.link(gguf.repo, gguf.revision, gguf.file, path)
    except OSError as error:
        raise StorageError(download_error_text(path.parent, error)) from error


def _transfer(gguf: GGUF, path: Path, fetch: Fetch, report: Report) -> None:
    for stale in path.parent.glob("[0-9a-f]" * 64 + PART):  # the folder may be the user's own
        if time.time() - stale.stat().st_mtime > _STALE_S:
            _remove_partial(stale)
    part = path.with_name(path.name + PART)
    done = part.stat().st_size if part.exists() else 0
    require_space(path.parent, gguf.size - done)
    if done > gguf.size:
        _remove_partial(part)
    if done != gguf.size:
        fetch(gguf, part, report)
    digest = checksum.sha256(part, report)
    if digest != gguf.sha256:
        _remove_partial(part)
        raise NetworkError(
            f"{gguf.file} arrived damaged: its sha256 is {digest[:12]}…, not "
            f"{str(gguf.sha256)[:12]}…. It was removed; pull again."
        )
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(path)
    _remove_partial(part)
    checksum.remember(path, digest)


def _remove_partial(part: Path) -> None:
    for path in part.parent.glob(f"{part.name}*"):
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
