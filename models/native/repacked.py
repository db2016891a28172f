"""Copies of model files whose weights lie as the kernels want them: they are mapped.

A library that rearranges weights as it loads them reads a whole file and computes for seconds, each
time. A mapped copy needs neither, and all processes share its memory. `python -m
models.native.repacked SOURCE` makes one, with the lowest priority.
"""

import os
import shutil
import stat
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from time import time
from uuid import uuid4

from models import child_process
from models.errors import SpecchatError
from models.files import checksum
from models.files.disk import JsonFile
from models.files.gguf_files import parts_of
from models.files.places import models_dir
from models.machine import processor
from models.native.engine import EngineLibrary

SMALLEST = 200_000_000
"""Bytes of a file from which on a copy is worth its place; smaller ones load in half a second."""
LIMIT = 12_000_000_000
"""Bytes of all copies; the ones that were used longest ago are removed."""
SPARE = 10_000_000_000
"""Bytes that stay free on the disk."""
TIMES_SIZE = 1.5
"""The memory that it takes to check a copy, by the size of the model."""
DAY_S = 24 * 3600
SUFFIX = ".repacked"
_BATCHES = (30, 1), (31, 1), (33, 2), (37, 4)
"""What a copy is checked with: how many tokens have been read after each batch, and its rows."""


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


def find(engine: EngineLibrary, source: Path) -> Path | None:
    """Return the copy of a model for a library on this machine, if it is as it was written."""
    if engine.repack is None or not (name := _name(engine, source)):
        return None
    path, copy = folder() / name, copies().get(name)
    if copy is None or not _is_as_written(path, copy):
        return None
    if time() - copy.used_s > DAY_S:
        with suppress(OSError):
            _note(name, replace(copy, used_s=time()))
    return path


def make_later(engine: EngineLibrary, source: Path) -> None:
    """Have a process that outlives this one make the copy of a model, if it is worth it.

    What failed once is not tried again.
    """
    with suppress(OSError):
        if (
            engine.repack
            and source.stat().st_size >= SMALLEST
            and _name(engine, source) not in copies()
        ):
            command = sys.executable, "-P", "-m", __name__, str(source.resolve())
            nowhere = subprocess.DEVNULL
            subprocess.Popen(
                command, env=child_process.environment(), start_new_session=True, cwd="/",
                stdin=nowhere, stdout=nowhere, stderr=nowhere,
            )  # fmt: skip


def make(engine: EngineLibrary, source: Path) -> Path | None:
    """Write the copy of a model; return its path, or None if there is no room or it differs.

    Raises:
        OSError: it cannot be written.
        SpecchatError: the model cannot be read.
    """
    import psutil
    from filelock import FileLock  # slow to load, and to find a copy needs neither

    size, place = source.stat().st_size, folder()
    place.mkdir(0o700, parents=True, exist_ok=True)
    with FileLock(place / "making.lock", timeout=0):  # one at a time on this machine
        remove(LIMIT - size)
        room = min(LIMIT, shutil.disk_usage(place).free - SPARE)
        memory = psutil.virtual_memory().available / TIMES_SIZE
        if engine.repack is None or parts_of(source) or size > min(room, memory):
            return None
        digest, copy = checksum.sha256_once(source), Copy(str(source.resolve()))
        path, fresh = place / _name(engine, source), place / f"{uuid4().hex}.part"
        _note(path.name, copy)  # a model that ends this process is not tried again
        try:
            subprocess.run(engine.repack(source, fresh), check=True, capture_output=True)
            if _answers(source, fresh) != _answers(source) or checksum.sha256(source) != digest:
                return None
            with fresh.open("rb+") as file:
                os.fsync(file.fileno())
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
        status = path.stat()
        _note(
            path.name,
            replace(copy, size=status.st_size, mtime_ns=status.st_mtime_ns, used_s=time()),
        )
    return path


def remove(limit: int = 0) -> None:
    """Remove copies until the rest, the ones used last, have at most `limit` bytes.

    Copies of models that are gone, and what a program that was killed left behind, go first.

    Raises:
        OSError: one cannot be removed.
    """
    left, known = limit, copies()
    for name, copy in sorted(known.items(), key=lambda item: -item[1].used_s):
        left -= copy.size
        if left < 0 or not os.path.exists(copy.source) or not limit:
            del known[name]
    for path in folder().glob("*"):
        if path.suffix in (SUFFIX, ".part") and path.name not in known:
            path.unlink(missing_ok=True)
    if folder().is_dir():
        _file().update(lambda _: known)


def copies() -> _Copies:
    """Return the copies that were written, by the names of their files."""
    return _file().read() or {}


def copied_bytes(source: Path | None = None) -> int:
    """Return what the copies of a model take on disk, or all copies."""
    name = source and str(source.resolve())
    return sum(copy.size for copy in copies().values() if name in (None, copy.source))


def _note(name: str, copy: Copy) -> None:
    _file().update(lambda known: {**(known or {}), name: copy})


def _file() -> JsonFile[_Copies]:
    return JsonFile(folder() / "copies.json", _Copies)


def _name(engine: EngineLibrary, source: Path) -> str:
    """Return the name of a copy's file, from all that it depends on; empty if that is unknown."""
    digest = checksum.known_sha256(source)
    if digest is None:
        return ""
    what = f"{digest} {engine.package} {engine.build()} {engine.features()} {processor()}"
    return sha256(what.encode()).hexdigest()[:32] + SUFFIX


def _is_as_written(path: Path, copy: Copy) -> bool:
    with suppress(OSError):
        status = path.lstat()
        kind, what = stat.S_IFMT(status.st_mode), (status.st_size, status.st_mtime_ns)
        return kind == stat.S_IFREG and what == (copy.size, copy.mtime_ns)
    return False


def _answers(source: Path, copy: Path | None = None) -> bytes:
    """Return the logits of a few tokens in batches of several sizes, bit for bit."""
    from models.native.model import NativeModel  # which imports this module
    from models.native.weights import Weights

    weights = Weights(source, copy=copy)
    model = NativeModel(weights, n_ctx=256, max_rows=4)
    tokens = [token % model.n_vocab for token in range(1000, 1037)]
    answers = b"".join(model.logits(tokens[:end], rows).tobytes() for end, rows in _BATCHES)
    model.close()
    weights.close()
    return answers


if __name__ == "__main__":
    from models.native import loaded

    os.nice(19)
    with suppress(OSError, SpecchatError, subprocess.CalledProcessError):  # as without a copy
        make(loaded.use("ik"), Path(sys.argv[1]))
