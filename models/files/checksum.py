"""Whether a file's bytes are the ones that were promised; asked once, remembered after."""

import hashlib
import json
import os
from pathlib import Path

from models.cancel import CancelFlag
from models.errors import ModelError
from models.files import private
from models.files.places import cache_dir
from models.files.progress import Progress, Report, silent, stop_if_asked

_CHUNK = 1 << 20


def sha256(path: Path, report: Report = silent, cancel: CancelFlag | None = None) -> str:
    """Return the sha256 of a whole file."""
    digest, done = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            total = os.fstat(file.fileno()).st_size
            while chunk := file.read(_CHUNK):
                stop_if_asked(cancel)
                digest.update(chunk)
                done += len(chunk)
                report(Progress(done, total, "checking"))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}.") from error
    return digest.hexdigest()


def known_sha256(path: Path) -> str | None:
    """Return the sha256 that was found earlier, if the file has not been touched since."""
    record = _records().get(str(path.resolve()))
    if isinstance(record, list) and record[:-1] == _stamp(path):
        return str(record[-1])
    return None


def remember(path: Path, digest: str) -> None:
    """Note the sha256 of a file as it is now."""
    records = {name: record for name, record in _records().items() if os.path.exists(name)}
    records[str(path.resolve())] = [*_stamp(path), digest]
    try:
        private.write(_place(), json.dumps(records))
    except OSError:
        return  # a cache that cannot be written costs a second checksum, nothing else


def _stamp(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ino]


def _place() -> Path:
    return cache_dir() / "checksums.json"


def _records() -> dict[str, object]:
    try:
        records = json.loads(_place().read_text())
    except (OSError, ValueError):
        return {}
    return records if isinstance(records, dict) else {}
