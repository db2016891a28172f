"""Hand out a model only when its bytes are the promised ones."""

from dataclasses import dataclass
from pathlib import Path

from models import gguf as header
from models.cancel import CancelFlag
from models.catalog import GGUF, PUBLISHED
from models.errors import ModelError, StorageError
from models.files import checksum, layout
from models.files.locate import locate, resolve
from models.files.progress import Report, silent


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that was read from the first byte to the last."""

    path: Path
    sha256: str
    promised: str | None  # None: nobody said what its bytes should be


def ready(reference: str, progress: Report = silent, cancel: CancelFlag | None = None) -> Path:
    """Return where a model is, its bytes verified if they never were.

    A damaged file is refused; one that specchat manages is removed, never one given by its path.
    """
    path = locate(reference)
    promised = _promised(reference, path)
    if promised and checksum.known_sha256(path) != promised:
        _verify(reference, path, promised, progress, cancel)
    return path


def check(reference: str, progress: Report = silent, cancel: CancelFlag | None = None) -> Checked:
    """Read a whole file again and compare, whatever was found earlier."""
    path = locate(reference)
    header.read(path)
    promised = _promised(reference, path)
    return Checked(path, _verify(reference, path, promised, progress, cancel), promised)


def _promised(reference: str, path: Path) -> str | None:
    wanted = resolve(reference)
    by_catalogue = wanted.sha256 if isinstance(wanted, GGUF) else None
    return by_catalogue or layout.named_sha256(path)


def _verify(
    reference: str, path: Path, promised: str | None, report: Report, cancel: CancelFlag | None
) -> str:
    digest = checksum.sha256(path, report, cancel)
    if promised in (None, digest):
        checksum.remember(path, digest)
        return digest
    wanted = resolve(reference)
    complaint = (
        f"{path} is damaged: its sha256 is {digest[:12]}…, not {str(promised)[:12]}…"
        f"{_changed(path, wanted)}"
    )
    if isinstance(wanted, Path):
        raise ModelError(f"{complaint}. It is not used; replace it.")
    discard(path)
    raise ModelError(
        f"{complaint}. It was removed; fetch it again with: specchat models pull {reference}"
    )


def _changed(path: Path, wanted: GGUF | Path) -> str:
    """Say which parts were changed that steer the model; chance would hardly hit those alone."""
    published = PUBLISHED.get(wanted.name) if isinstance(wanted, GGUF) else None
    if published is None:
        return ""
    try:
        parts = header.fingerprint(header.read(path)).differing(published)
    except ModelError:
        return ""  # it is not even a model any more
    return f"; {' and '.join(parts)} differ from what was published" if parts else ""


def discard(path: Path) -> None:
    """Remove a file, and what its link in the cache points to."""
    try:
        for each in {path.resolve(), path}:
            each.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"{path} is damaged and cannot be removed: {error.strerror}. Remove it by hand."
        ) from error
