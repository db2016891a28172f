"""Headers that are remembered: to read all tokens of a vocabulary takes a fifth of a second."""

import os
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import msgspec

from models import gguf
from models.files.disk import write_private
from models.files.places import cache_dir
from models.gguf import Header

VERSION = 4
"""Of `Header`, and of what is refused: records of other versions are not found."""
LEAST = 16 << 20
"""Bytes of a file below which its header is short, and read every time."""
LONGEST = 256_000
"""Bytes of a record; longer headers are read every time."""
MOST = 256
"""Records kept; the oldest goes first."""


def read(path: Path) -> Header:
    """Return a file's header, as it was read before if the file has not changed since.

    Raises:
        ModelError: what `models.gguf.read` raises.
    """
    try:
        real = path.resolve()
        status = real.stat()
    except (OSError, RuntimeError, ValueError):
        return gguf.read(path)  # it says what is wrong
    if status.st_size < LEAST:
        return gguf.read(path)
    file = b"%d %d %d " % (VERSION, status.st_size, status.st_mtime_ns)
    place = _folder() / f"{sha256(file + bytes(real)).hexdigest()[:32]}.json"
    if known := _known(place):
        return replace(known, path=path)
    header = gguf.read(path)
    with suppress(OSError, ValueError):  # without a record it is read again
        _keep(header, place)
    return header


def _known(place: Path) -> Header | None:
    try:
        return msgspec.json.decode(place.read_bytes(), type=Header, dec_hook=_converted)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return None


def _converted(kind: type, value: str) -> object:
    return kind(value)  # a path


def _keep(header: Header, place: Path) -> None:
    record = msgspec.json.encode(replace(header, path=Path()), enc_hook=str)
    if len(record) > LONGEST:
        return
    write_private(place, record)
    records = sorted(place.parent.glob("*.json"), key=os.path.getmtime)
    for old in records[:-MOST]:
        old.unlink(missing_ok=True)


def _folder() -> Path:
    return cache_dir() / "headers"
