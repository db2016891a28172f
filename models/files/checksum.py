"""Checksums of models: verified once, then remembered. A model is used only if they match."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from models.errors import ModelError, StorageError, raising
from models.files.disk import JsonFile
from models.files.layout import named_sha256
from models.files.locate import identify
from models.files.model_file import ModelFile
from models.files.places import cache_dir
from models.progress import Progress, Report, silent

_CHUNK = 1 << 20
_Records = dict[str, tuple[int, int, int, str]]
"""By path: a file's size, time and inode when it was read, and its sha256."""


def verified_path(reference: str, report: Report = silent) -> Path:
    """Return where a model is, its bytes verified if they never were.

    A damaged file is refused; one that specchat manages is removed, never one given by its path.
    """
    model = identify(reference)
    promised = model.promised_sha256
    if promised and known_sha256(model.path) != promised:
        check(model, report)
    return model.path


def check(model: ModelFile, report: Report = silent) -> str:
    """Read a whole file and return its sha256; a `ModelError` says that another is promised."""
    path, promised = model.path, model.promised_sha256
    digest = sha256(path, report)
    if promised in (None, digest):
        return remember(path, digest)
    complaint = f"{path} is damaged: its sha256 is {digest[:12]}…, not {str(promised)[:12]}…"
    if model.gguf is None:
        raise ModelError(f"{complaint}. It is not used; replace it.")
    with raising(StorageError, f"{path} is damaged and cannot be removed", " Remove it by hand."):
        if named_sha256(path):  # a link to bytes of the cache; any others are the user's
            path.resolve().unlink(missing_ok=True)
        path.unlink(missing_ok=True)
    raise ModelError(
        f"{complaint}. It was removed; fetch it again with: specchat models pull {model.reference}"
    )


def sha256(path: Path, report: Report = silent) -> str:
    """Return the sha256 of a whole file."""
    digest, done = hashlib.sha256(), 0
    with raising(ModelError, f"{path} cannot be read"), path.open("rb") as file:
        total = os.fstat(file.fileno()).st_size
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            done += len(chunk)
            report(Progress(done, total, "checking"))
    return digest.hexdigest()


def sha256_once(path: Path) -> str:
    """Return the sha256 of a file, reading it unless its checksum is known."""
    return known_sha256(path) or remember(path, sha256(path))


def known_sha256(path: Path) -> str | None:
    """Return the sha256 that was found earlier, if the file has not been touched since."""
    record = (_records().read() or {}).get(str(path.resolve()))
    return record[-1] if record and record[:-1] == _stamp(path) else None


def remember(path: Path, digest: str) -> str:
    """Note the sha256 of a file as it is now, and return it."""
    new = {str(path.resolve()): (*_stamp(path), digest)}

    def with_new(records: _Records | None) -> _Records:
        known = (records or {}).items()
        return {name: record for name, record in known if os.path.exists(name)} | new

    with suppress(OSError):  # a cache that cannot be written costs a second checksum, nothing else
        _records().update(with_new)
    return digest


def _stamp(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


def _records() -> JsonFile[_Records]:
    return JsonFile(cache_dir() / "checksums.json", _Records)
