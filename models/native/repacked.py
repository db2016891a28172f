"""Copies of model files whose weights lie as the kernels want them: they are mapped.

A library that rearranges weights as it loads them reads a whole file and computes for seconds, each
time. A mapped copy needs neither, and all processes share its memory. `repacking` makes one.
"""

import os
import stat
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from time import time

from models import child_process
from models.files import checksum
from models.files.disk import JsonFile
from models.files.places import models_dir
from models.machine import processor
from models.native import loaded

SMALLEST = 200_000_000
"""Bytes of a file from which on a copy is worth it; smaller ones load in half a second."""
LIMIT = 12_000_000_000  # bytes of all copies; the ones that were used longest ago are removed
DAY_S = 24 * 3600
RETRY_S = 7 * DAY_S  # after this a copy that could not be made is tried again
SUFFIX = ".repacked"


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy, as it was written; it has no size if it is not complete, or cannot be made."""

    source: str  # path of the model, without links
    size: int = 0
    mtime_ns: int = 0
    used_s: float = 0.0  # seconds since the epoch, to a day


_Copies = dict[str, Copy]  # by the names of their files


def folder() -> Path:
    """Return where the copies are."""
    return models_dir() / "repacked"


def find(source: Path) -> Path | None:
    """Return the copy of a model for the loaded library, if it is as it was written."""
    if loaded.engine().repack is None or not (name := name_of(source)):
        return None
    path, copy = folder() / name, copies().get(name)
    if copy is None or not _is_as_written(path, copy):
        return None
    if time() - copy.used_s > DAY_S:
        with suppress(OSError):
            save_record(name, replace(copy, used_s=time()))
    return path


sources_to_copy: set[Path] = set()
"""Models that this process has loaded: `make_later` has their copies made."""


def make_later() -> None:
    """Have processes that outlive this one make copies of `sources_to_copy`, if worth it."""
    command, nowhere = (sys.executable, "-P", "-m", "models.native.repacking"), subprocess.DEVNULL
    for source in sources_to_copy:
        with suppress(OSError):
            if _is_wanted(source):
                subprocess.Popen(
                    [*command, str(source.resolve())], env=child_process.environment(),
                    start_new_session=True, cwd="/", stdin=nowhere, stdout=nowhere, stderr=nowhere,
                )  # fmt: skip


def _is_wanted(source: Path) -> bool:
    if loaded.engine().repack is None or source.stat().st_size < SMALLEST or find(source):
        return False
    copy = copies().get(name_of(source))
    return copy is None or bool(copy.size) or time() - copy.used_s > RETRY_S


def remove(limit: int = 0) -> None:
    """Remove copies until the rest, the ones used last, have at most `limit` bytes.

    One copy of a model stays: those for other builds of the library, as before an update, are
    removed. So are copies of models that are gone, and files that a killed program left there.
    """
    left, known, copied = limit, copies(), set[str]()
    for name, copy in sorted(known.items(), key=lambda item: -item[1].used_s):
        is_useless = copy.source in copied or not os.path.exists(copy.source)
        left -= 0 if is_useless else copy.size
        if left < 0 or is_useless or not limit:
            del known[name]
        elif copy.size:
            copied.add(copy.source)
    for path in folder().glob("*"):
        if path.suffix in (SUFFIX, ".part") and path.name not in known:
            path.unlink(missing_ok=True)
    if folder().is_dir():
        _file().update(lambda _: known)


def copies() -> _Copies:
    """Return the copies that were written, by the names of their files."""
    return _file().read() or {}


def copied_bytes(source: Path | None = None) -> int:
    """Return the bytes on disk of the copies of a model, or of all copies."""
    name = source and str(source.resolve())
    return sum(copy.size for copy in copies().values() if name in (None, copy.source))


def save_record(name: str, copy: Copy) -> None:
    """Store the record of a copy."""
    _file().update(lambda known: {**(known or {}), name: copy})


def _file() -> JsonFile[_Copies]:
    return JsonFile(folder() / "copies.json", _Copies)


def name_of(source: Path) -> str:
    """Return the name of a copy's file, from all that it depends on; empty if that is unknown."""
    engine, digest = loaded.engine(), checksum.known_sha256(source)
    if digest is None:
        return ""
    what = f"{digest} {engine.package} {engine.build()} {engine.features()} {processor()}"
    return sha256(what.encode()).hexdigest()[:32] + SUFFIX


def _is_as_written(path: Path, copy: Copy) -> bool:
    with suppress(OSError):
        status = path.lstat()
        state = status.st_size, status.st_mtime_ns
        return stat.S_ISREG(status.st_mode) and state == (copy.size, copy.mtime_ns)
    return False
